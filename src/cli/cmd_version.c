#include "cli.h"

#include <stdio.h>

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    (void)opts, (void)n, (void)operands;
    const llap_feature *f;
    const size_t        n_features = llap_features(&f);
    if (common->json) {
        printf("{\"version\": ");
        cli_json_string(llap_version());
        printf(", \"features\": {");
        for (size_t i = 0; i < n_features; i++) {
            if (i > 0) printf(", ");
            cli_json_string(f[i].name);
            printf(": %s", f[i].enabled ? "true" : "false");
        }
        printf("}, \"cpu\": ");
        cli_json_string(llap_cpu());
        printf("}\n");
        return LLAP_OK;
    }
    printf("llapdiff %s\n", llap_version());
    for (size_t i = 0; i < n_features; i++)
        printf("  %-9s %-4s %s\n", f[i].name, f[i].enabled ? "yes" : "no", f[i].detail);
    printf("  %-9s %s\n", "cpu", llap_cpu());
    return LLAP_OK;
}

/* clang-format off */
const cli_command cmd_version = {
    .name = "version",
    .operands = "",
    .summary = "print version, features and instruction sets",
    .text =
        "Prints the version of the library, which optional features are enabled, and\n"
        "which instruction sets this processor has. Also: llapdiff --version.",
    .example = "  llapdiff version --json                     the same for a script",
    .run = run,
};
/* clang-format on */
