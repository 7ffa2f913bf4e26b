#define TRANSFORM(name) name##_fma
#include "base/rng_transform.h"
