/* Elementwise ops whose formula is the same in float and in double, for backends that compute one
 * number at a time:
 *
 *     #define X(ID, value) case LL_OP_##ID: return value;
 *     switch (op) { LL_UNARY_FORMULAS(X, SINGLE, SINGLE) ... }
 *
 * x, y, a, b are the operands and attr.scalar; F(exp) is the function of the type (expf, exp),
 * N(1.0) its number. GELU and AFFINE are not here: they differ in how they are rounded. */
#ifndef LL_BACKEND_FORMULAS_H
#define LL_BACKEND_FORMULAS_H

/* clang-format off */
#define LL_UNARY_FORMULAS(X, F, N) \
    X(COPY,     x) \
    X(NEG,      -x) \
    X(EXP,      F(exp)(x)) \
    X(LOG,      F(log)(x)) \
    X(SIN,      F(sin)(x)) \
    X(COS,      F(cos)(x)) \
    X(TANH,     F(tanh)(x)) \
    X(SIGMOID,  N(1.0) / (N(1.0) + F(exp)(-x))) \
    X(SILU,     x / (N(1.0) + F(exp)(-x))) \
    X(SOFTPLUS, x > N(20.0) ? x : F(log1p)(F(exp)(x))) \
    X(SQRT,     F(sqrt)(x)) \
    X(SQUARE,   x * x) \
    X(ABS,      F(fabs)(x)) \
    X(SIGN,     x > N(0.0) ? N(1.0) : x < N(0.0) ? -N(1.0) : N(0.0)) \
    X(CLAMP,    x < a ? a : x > b ? b : x)

#define LL_BINARY_FORMULAS(X, F, N) \
    X(ADD,        x + y) \
    X(SUB,        x - y) \
    X(MUL,        x * y) \
    X(DIV,        x / y) \
    X(MAXIMUM,    x >= y ? x : y) \
    X(MINIMUM,    x <= y ? x : y) \
    X(AT_LEAST,   x >= y ? N(1.0) : N(0.0)) \
    X(MASK,       y != N(0.0) ? x : N(0.0)) \
    X(CLAMP_GRAD, x < a || x > b ? N(0.0) : y)
/* clang-format on */

#endif
