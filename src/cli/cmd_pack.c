#include "read.h"

#include <stdio.h>

typedef struct pack_options {
    llap_read_opts read;
    llap_pack_opts pack;
    const char    *output;
} pack_options;

#define OPTIONS pack_options
/* clang-format off */
static const llap_option own[] = {
    CLI_OWN(FILE, output, "the packed panel, a file; with --shard-rows a new folder"),
    CLI_OWN_END,
};

static const cli_row rows[] = {
    { .option = "output", .letter = 'o' },
    { .table = llap_pack_options, .option = "memory", .arg = "MB" },
    { .table = llap_pack_options, .option = "shard_rows", .arg = "N" },
    CLI_READ_ROWS,
    { 0 },
};
/* clang-format on */

static llap_status run(const cli_common *common, const void *opts, int n, char **operands)
{
    const pack_options *o = opts;
    llap_read_opts      read = o->read;
    llap_panel_sizes    made;
    if (o->output == NULL) return cli_usage("pack", "--output names the packed panel");
    llap_status st = cli_spare("pack", o->output, n, operands);
    if (st != LLAP_OK) return st;
    cli_catch_signals();
    read.log = &common->log;
    st = llap_panel_pack((const char *const *)operands, (size_t)n, &read, &o->pack, o->output,
                         &made);
    if (st != LLAP_OK) return st;
    if (common->json) {
        printf("{\"file\": ");
        cli_json_string(o->output);
        printf(", \"entities\": %lld, \"variables\": %lld, \"rows\": %lld}\n",
               (long long)made.entities, (long long)made.variables, (long long)made.rows);
    } else if (!common->quiet) {
        printf("%s: %lld entities, %lld variables, %lld rows\n", o->output,
               (long long)made.entities, (long long)made.variables, (long long)made.rows);
    }
    return LLAP_OK;
}

/* clang-format off */
const cli_command cmd_pack = {
    .name = "pack",
    .operands = "DATA...",
    .summary = "sort data into a file that needs no memory",
    .text =
        "Reads the files as every command does and writes them as a packed panel: sorted\n"
        "by entity and time, checksummed, one file or a folder of shards. Every command\n"
        "takes it in the place of the files; it is mapped, not read, so that it may be\n"
        "larger than memory. Rows that do not fit into --memory are sorted on disk. A\n"
        "packed panel is packed again, into shards or one file, likewise.",
    .example =
        "  llapdiff pack stays/*.csv.gz --memory 2000 -o stays.panel\n"
        "  llapdiff train stays.panel --size anchor -c 2d --horizon 6h -o stays.model",
    .min_operands = 1,
    .max_operands = -1,
    .rows = rows,
    .own = own,
    .parts = { { llap_read_options, offsetof(OPTIONS, read) }, { llap_pack_options, offsetof(OPTIONS, pack) } },
    .options_size = sizeof(pack_options),
    .run = run,
};
/* clang-format on */
