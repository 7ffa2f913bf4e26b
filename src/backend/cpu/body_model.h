/* Recurrence, the damped-sinusoid basis, rotary embedding and AdamW; the part compiled once per
 * instruction set. */

/* One row of a gated recurrent unit: x and g hold r, z, n side by side; gates gets r, z, n, g_n. */
static void gru_row(int64_t h, const float *x, const float *g, const float *before, float *gates,
                    float *y)
{
    for (int64_t i = 0; i < h; i += 16) {
        const int64_t n = v_left(h - i);
        const vec     r = f_sigmoid(v_add(v_ld(x + i, n), v_ld(g + i, n)));
        const vec     z = f_sigmoid(v_add(v_ld(x + h + i, n), v_ld(g + h + i, n)));
        const vec     gn = v_ld(g + 2 * h + i, n);
        const vec     m = v_tanh(v_fma(r, gn, v_ld(x + 2 * h + i, n)));
        v_st(gates + i, n, r);
        v_st(gates + h + i, n, z);
        v_st(gates + 2 * h + i, n, m);
        v_st(gates + 3 * h + i, n, gn);
        v_st(y + i, n, v_fma(z, v_sub(v_ld(before + i, n), m), m));
    }
}

/* Its gradient: dh, of the state behind the row without dy, becomes what of it goes straight to the
 * state before; dx and dg are those of x and of g. */
static void gru_grad_row(int64_t h, const float *gates, const float *before, const float *dy,
                         float *dh, float *dx, float *dg)
{
    for (int64_t i = 0; i < h; i += 16) {
        const int64_t n = v_left(h - i);
        const vec     r = v_ld(gates + i, n), z = v_ld(gates + h + i, n);
        const vec     m = v_ld(gates + 2 * h + i, n);
        const vec     d = v_add(v_ld(dh + i, n), v_ld(dy + i, n));
        const vec     keep = v_sub(one(), z);
        const vec     dm = v_mul(v_mul(d, keep), v_fnma(m, m, one()));
        const vec     dr = v_mul(v_mul(dm, v_ld(gates + 3 * h + i, n)), v_mul(r, v_sub(one(), r)));
        const vec     dz = v_mul(v_mul(d, v_sub(v_ld(before + i, n), m)), v_mul(z, keep));
        v_st(dx + i, n, dr);
        v_st(dg + i, n, dr);
        v_st(dx + h + i, n, dz);
        v_st(dg + h + i, n, dz);
        v_st(dx + 2 * h + i, n, dm);
        v_st(dg + 2 * h + i, n, v_mul(dm, r));
        v_st(dh + i, n, v_mul(d, z));
    }
}

/* Row of 2K: e^(-t rho) cos(t omega), then e^(-t rho) sin(t omega). */
static void basis_row(int64_t k, float t, const float *rho, const float *omega, float *a)
{
    const vec time = v_set(t), minus = v_set(-t);
    for (int64_t j = 0; j < k; j += 16) {
        const int64_t n = v_left(k - j);
        vec           s, c;
        v_sincos(v_mul(time, v_ld(omega + j, n)), &s, &c);
        const vec decay = v_exp_any(v_mul(minus, v_ld(rho + j, n)));
        v_st(a + j, n, v_mul(decay, c));
        v_st(a + k + j, n, v_mul(decay, s));
    }
}

/* With P = da_c a_c + da_s a_s and Q = da_s a_c - da_c a_s: drho = -sum_r t P, domega = sum_r t Q.
 */
static void basis_grad_poles(int64_t h, int64_t k, int64_t j, const float *t, const float *a,
                             const float *da, float *drho, float *domega)
{
    const int64_t n = v_left(k - j);
    vecd          rho = vd_set(0.0), omega = vd_set(0.0);
    for (int64_t r = 0; r < h; r++) {
        const int64_t at = r * 2 * k + j;
        const vec     c = v_ld(a + at, n), s = v_ld(a + at + k, n);
        const vec     dc = v_ld(da + at, n), ds = v_ld(da + at + k, n), time = v_set(t[r]);
        const vec     p = v_fma(dc, c, v_mul(ds, s)), q = v_fnma(dc, s, v_mul(ds, c));
        rho = vd_add(rho, vd_wide(v_mul(v_neg(time), p)));
        omega = vd_add(omega, vd_wide(v_mul(time, q)));
    }
    if (drho != NULL) v_st(drho + j, n, vd_narrow(rho));
    if (domega != NULL) v_st(domega + j, n, vd_narrow(omega));
}

/* dt = sum_k omega Q - rho P of one row. */
static float basis_grad_time(int64_t k, const float *rho, const float *omega, const float *a,
                             const float *da)
{
    vecd sum = vd_set(0.0);
    for (int64_t j = 0; j < k; j += 16) {
        const int64_t n = v_left(k - j);
        const vec     c = v_ld(a + j, n), s = v_ld(a + k + j, n);
        const vec     dc = v_ld(da + j, n), ds = v_ld(da + k + j, n);
        const vec     p = v_fma(dc, c, v_mul(ds, s)), q = v_fnma(dc, s, v_mul(ds, c));
        sum = vd_add(sum, vd_wide(v_fnma(v_ld(rho + j, n), p, v_mul(v_ld(omega + j, n), q))));
    }
    return (float)vd_sum(sum);
}

/* sine and cosine of pos * freq[0..n-1]. */
static void angles(int64_t n, float pos, const float *freq, float *sine, float *cosine)
{
    for (int64_t i = 0; i < n; i += 16) {
        vec s, c;
        v_sincos(v_mul(v_set(pos), v_ld(freq + i, n - i)), &s, &c);
        v_st(sine + i, n - i, s);
        v_st(cosine + i, n - i, c);
    }
}

static void adamw(const ll_adamw *o, const ll_adamw_item *item, int64_t first, int64_t n)
{
    const double k = (double)o->step;
    const vec  clip = v_set((float)o->clip), shrink = v_set((float)(1.0 - o->lr * o->weight_decay));
    const vec  new1 = v_set((float)(1.0 - o->beta1)), new2 = v_set((float)(1.0 - o->beta2));
    const vec  old2 = v_set((float)o->beta2), eps = v_set((float)o->eps);
    const vec  root = v_set((float)(1.0 / sqrt(1.0 - pow(o->beta2, k))));
    const vec  rate = v_set((float)(o->lr / (1.0 - pow(o->beta1, k))));
    const vec  keep = v_set(o->keep), move = v_set(o->move);
    const bool left_out = !isfinite(o->clip);
    for (int64_t i = first; i < first + n; i += 16) {
        const int64_t left = first + n - i;
        vec           p = v_ld(item->p + i, left);
        if (!left_out) {
            const vec g = v_mul(clip, v_ld(item->grad + i, left)), m0 = v_ld(item->m + i, left);
            const vec m1 = v_fma(new1, v_sub(g, m0), m0);
            const vec v1 = v_fma(v_mul(new2, g), g, v_mul(old2, v_ld(item->v + i, left)));
            const vec step = v_div(m1, v_fma(v_sqrt(v1), root, eps));
            p = v_fnma(rate, step, v_mul(shrink, p));
            v_st(item->m + i, left, m1);
            v_st(item->v + i, left, v1);
            v_st(item->p + i, left, p);
        }
        if (item->average != NULL) {
            const vec e = v_ld(item->average + i, left);
            v_st(item->average + i, left, v_add(e, v_add(v_mul(keep, v_sub(p, e)), move)));
        }
    }
}
