/* Anchors are trained as everything is: nothing is lost, and what does not fit is said at once. */
#include "lossless.h"
#include "sensors.h"

#include <sys/statvfs.h>
#include <unistd.h>

static llap_panel *panel; /* variables "no2" and "noise" */

static int set_up(void **state)
{
    if (make_folder(state) != 0) return 1;
    panel = make_panel("no2", "noise", ENTITIES);
    return 0;
}

static int tear_down(void **state)
{
    llap_panel_destroy(panel);
    return remove_folder(state);
}

static llap_train_opts options(llap_train_size size, const char *target)
{
    llap_train_opts o = { 0 };
    o.size = size;
    o.target = target;
    o.context = "2d";
    o.horizon = "24";
    return o;
}

/* Two targets, entities linked: every part of a fit, and one anchor after the other. */
static void stopped_again_and_again(void **state)
{
    (void)state;
    llap_train_opts o = options(LLAP_TRAIN_SIZE_ANCHOR, "no2,noise");
    o.link = 1;
    o.training = "{\"anchor\": {\"steps\": 20, \"rows\": 8, \"valid_rows\": 60}}";
    check_lossless(panel, o, 40); /* later runs are longer: what is one piece comes to its end */
}

typedef struct stop {
    int64_t first, at; /* step that was told first, and that it stops at, */
    int64_t all;       /* of so many */
    double  share;     /* or that it stops behind, of all; < 0: nowhere */
} stop;

static int stop_at(void *user, const llap_progress_event *e)
{
    stop *s = user;
    if (s->first < 0) s->first = e->done;
    s->at = e->done;
    s->all = e->total;
    return s->share >= 0 && (double)e->done >= s->share * (double)e->total;
}

/* In the middle of a descent; with one anchor done; not a step is made again. */
static void it_goes_on_with_the_next_step(void **state)
{
    (void)state;
    /* of both anchors' steps: the first and the fourth kernel, the next anchor, its second kernel
     */
    static const double stops[] = { 0.01, 0.07, 0.5, 0.53, -1 };
    llap_train_opts     o = options(LLAP_TRAIN_SIZE_ANCHOR, NULL);
    llap_model         *m = NULL;
    int64_t             last = 0;
    o.training = "{\"anchor\": {\"steps\": 10, \"rows\": 4, \"valid_rows\": 30}}";
    o.state = in_folder("next.state");
    o.resume = 1;
    for (size_t i = 0; i < sizeof stops / sizeof *stops; i++) {
        stop s = { .first = -1, .share = stops[i] };
        o.progress = (llap_progress){ stop_at, &s };
        const llap_status st = llap_train(panel, &o, &m);
        if (stops[i] >= 0.0) assert_int_equal(st, LLAP_ECANCELLED);
        else CHECK_OK(st);
        assert_int_equal(s.first, last + 1);
        last = s.at;
    }
    llap_model_destroy(m);
    unlink(o.state);
}

/* Validation has few windows of one target, and none of the other. */
static void the_bar_comes_to_its_end(void **state)
{
    (void)state;
    llap_panel     *p = make_panel("no2", "noise", 1);
    llap_train_opts o = options(LLAP_TRAIN_SIZE_ANCHOR, NULL);
    llap_model     *m = NULL;
    stop            s = { .first = -1, .share = -1 };
    for (int64_t r = ROWS * 6 / 10; r < p->n_rows; r++) {
        const int64_t cell = r * p->n_vars + 1;
        ((uint64_t *)(uintptr_t)p->observed)[cell / 64] &= ~(UINT64_C(1) << cell % 64);
    }
    o.no_climate = 1;
    o.training = "{\"anchor\": {\"steps\": 2, \"rows\": 4, \"valid_rows\": 5, \"cycles\": 0}}";
    o.progress = (llap_progress){ stop_at, &s };
    CHECK_OK(llap_train(p, &o, &m));
    assert_false(isnan(m->anchor[0]->valid_crps));
    assert_true(isnan(m->anchor[1]->valid_crps));
    /* Kernels: two kappas or one, that of filling, and half of so many for drifts; three walks. */
    assert_int_equal(s.all, 2 * (3 + 2) + 10 + 3);
    assert_int_equal(s.at, s.all);
    llap_model_destroy(m);
    llap_panel_destroy(p);
}

static int count(void *user, const llap_progress_event *e)
{
    (void)e;
    ++*(int *)user;
    return 0;
}

/* Every number of a note of the state becomes x. */
static void spoil_note(const char *path, const char *name, double x)
{
    static char header[1 << 20];
    uint64_t    n;
    long        first, last;
    FILE       *f = fopen(path, "r+b");
    assert_non_null(f);
    assert_int_equal(fread(&n, sizeof n, 1, f), 1);
    assert_true(n < sizeof header);
    assert_int_equal(fread(header, 1, n, f), n);
    const char *at = strstr(header, name);
    assert_non_null(at);
    at = strstr(at, "\"data_offsets\":[");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "\"data_offsets\":[%ld,%ld", &first, &last), 2);
    assert_int_equal(fseek(f, (long)(sizeof n + n) + first, SEEK_SET), 0);
    for (; first < last; first += (long)sizeof x) assert_int_equal(fwrite(&x, sizeof x, 1, f), 1);
    fclose(f);
}

static void copy_file(const char *from, const char *to)
{
    static char bytes[1 << 22];
    FILE       *f = fopen(from, "rb"), *g = fopen(to, "wb");
    assert_true(f != NULL && g != NULL);
    const size_t n = fread(bytes, 1, sizeof bytes, f);
    assert_true(n < sizeof bytes && fwrite(bytes, 1, n, g) == n);
    fclose(f);
    assert_int_equal(fclose(g), 0);
}

/* A state with a note that cannot be is told so, and stays as it is. */
static void check_refused(const llap_train_opts *o, const char *note, double x,
                          const char *expected)
{
    llap_model *m = NULL;
    copy_file(o->state, in_folder("good"));
    spoil_note(o->state, note, x);
    copy_file(o->state, in_folder("spoilt"));
    CHECK_FAIL(llap_train(panel, o, &m), LLAP_EFORMAT, expected);
    assert_null(m);
    check_same_file(o->state, in_folder("spoilt"));
    assert_int_equal(rename(in_folder("good"), o->state), 0);
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    llap_train_opts o = options(LLAP_TRAIN_SIZE_ANCHOR, "no2");
    llap_model     *m = NULL;
    stop            s = { .first = -1, .share = 0.3 };
    o.training = "{\"anchor\": {\"steps\": 10, \"rows\": 4, \"valid_rows\": 30}}";
    o.state = in_folder("spoil.state");
    o.progress = (llap_progress){ stop_at, &s };
    assert_int_equal(llap_train(panel, &o, &m), LLAP_ECANCELLED);
    o.resume = 1;
    o.progress = (llap_progress){ 0 };
    check_refused(&o, "note/anchor.0.kernel.0\"", 1e300,
                  "spoil.state: no2: note 'kernel.0': steps: expected 0..10, found 1e+300");
    check_refused(&o, "note/anchor.0.kernel.0.score", -1,
                  "spoil.state: no2: note 'kernel.0.score'");
    check_refused(&o, "anchor/counts", -1, "spoil.state: 'anchor/counts': number 0: expected at");
    unlink(o.state);
}

/* A finished training whose model is lost is written again from its state, without a step; one
 * whose model is there needs none. Networks too, and what was decided after them. */
static void what_is_finished_is_not_done_again(void **state)
{
    (void)state;
    static const llap_train_size sizes[] = { LLAP_TRAIN_SIZE_ANCHOR, LLAP_TRAIN_SIZE_TINY };
    for (int i = 0; i < 2; i++) {
        int             steps = 0;
        llap_model     *m = NULL;
        llap_train_opts o = options(sizes[i], "no2");
        o.steps = 3;
        o.members = 1;
        o.training = "{\"anchor\": {\"steps\": 5, \"rows\": 4, \"valid_rows\": 30}}";
        o.state = in_folder("done.state");
        o.output = in_folder("done");
        o.progress = (llap_progress){ count, &steps };
        save_trained(panel, &o, in_folder("done"));
        assert_true(steps > 0);
        o.resume = 1;
        steps = 0;
        CHECK_OK(llap_train(panel, &o, &m)); /* model and state */
        CHECK_OK(llap_model_save(m, in_folder("again")));
        llap_model_destroy(m);
        check_same_file(in_folder("done"), in_folder("again"));
        unlink(in_folder("done")); /* the state alone */
        save_trained(panel, &o, in_folder("again"));
        assert_int_equal(steps, 0);
        assert_int_equal(rename(in_folder("again"), in_folder("whole")), 0);
        if (i == 1) {
            check_refused(&o, "note/settled", 1,
                          "done.state: note 'settled': features.calibration_factor: not one");
            check_refused(&o, "note/settled", NAN,
                          "done.state: note 'settled': expected an answer source of 0..2");
            check_refused(&o, "note/filling", 1e300,
                          "done.state: note 'filling': expected points of 0..7, found 1e+300");
        }
        steps = 0;
        unlink(in_folder("done.state")); /* neither */
        save_trained(panel, &o, in_folder("done"));
        assert_true(steps > 0);
        check_same_file(in_folder("whole"), in_folder("done"));
        unlink(in_folder("done.state")); /* the model alone; then that of another training */
        steps = 0;
        save_trained(panel, &o, in_folder("again"));
        assert_int_equal(steps, 0);
        check_same_file(in_folder("whole"), in_folder("again"));
        o.seed = 2;
        save_trained(panel, &o, in_folder("again"));
        assert_true(steps > 0);
        o.seed = 1; /* a state of another training is nobody's to remove */
        CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EINVAL, "belongs to another training");
        unlink(in_folder("done.state"));
    }
}

/* Before anything is fitted. */
static void too_little_room_is_said_at_once(void **state)
{
    (void)state;
    static const llap_train_size sizes[] = { LLAP_TRAIN_SIZE_ANCHOR, LLAP_TRAIN_SIZE_TINY };
    struct statvfs               room;
    char                         disk[300];
    if (statvfs("/proc", &room) != 0 || room.f_bavail != 0) skip(); /* a folder without any */
    snprintf(disk, sizeof disk, "%s", in_folder("disk"));
    assert_int_equal(symlink("/proc", disk), 0);
    for (int i = 0; i < 2; i++) {
        int             steps = 0;
        llap_model     *m = NULL;
        llap_train_opts o = options(sizes[i], "no2");
        o.state = in_folder("disk/e.state");
        o.progress = (llap_progress){ count, &steps };
        CHECK_FAIL(llap_train(panel, &o, &m), LLAP_EIO, "the state of training takes about");
        assert_int_equal(steps, 0);
    }
    unlink(disk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stopped_again_and_again),
        cmocka_unit_test(it_goes_on_with_the_next_step),
        cmocka_unit_test(the_bar_comes_to_its_end),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(what_is_finished_is_not_done_again),
        cmocka_unit_test(too_little_room_is_said_at_once),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
