/* A server of PostgreSQL of the test program's own, in its folder (folder.h), for an ordinary user,
 * reached by a socket in that folder alone. Where Debian's package is missing, tests are skipped.
 */
#ifndef LLAP_TESTS_POSTGRES_H
#define LLAP_TESTS_POSTGRES_H

#include "base/sql/sql.h"
#include "folder.h"

#include <glob.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

enum { POSTGRES_NOBODY = 65534 };

typedef struct postgres {
    pid_t pid;
    bool  durable; /* fsync */
    char  bin[256], data[256], url[512];
} postgres;

/* Runs a program of the package; root becomes nobody, whom the server accepts. */
static inline pid_t postgres_run(const postgres *p, const char *program, char *const *arguments)
{
    char        path[300];
    const pid_t pid = fork();
    snprintf(path, sizeof path, "%s/%s", p->bin, program);
    if (pid != 0) return pid;
    if (geteuid() == 0 &&
        (setgroups(0, NULL) != 0 || setgid(POSTGRES_NOBODY) != 0 || setuid(POSTGRES_NOBODY) != 0))
        _exit(126);
    (void)prctl(PR_SET_PDEATHSIG, SIGQUIT); /* it ends with the test, however that ends */
    if (freopen("/dev/null", "w", stdout) == NULL || chdir(folder) != 0 ||
        freopen("postgres.log", "a", stderr) == NULL)
        _exit(126);
    (void)execv(path, arguments);
    _exit(127);
}

static inline bool postgres_answers(const postgres *p)
{
    ll_sql_url        u;
    ll_sql           *db = NULL;
    const llap_status st = ll_sql_url_init(&u, p->url);
    const bool        yes = st == LLAP_OK && ll_sql_open(&u, &(ll_sql_opts){ 0 }, &db) == LLAP_OK;
    ll_sql_close(db);
    ll_sql_url_deinit(&u);
    return yes;
}

/* Starts the server on its data and waits until it answers. */
static inline void postgres_go(postgres *p)
{
    char        socket[300];
    char *const arguments[] = { "postgres",
                                "-D",
                                p->data,
                                "-k",
                                socket,
                                "-c",
                                "listen_addresses=",
                                "-c",
                                "shared_buffers=16MB",
                                "-c",
                                "max_connections=100",
                                "-c",
                                p->durable ? "fsync=on" : "fsync=off",
                                NULL };
    snprintf(socket, sizeof socket, "%s", folder);
    p->pid = postgres_run(p, "postgres", arguments);
    for (int i = 0; !postgres_answers(p); i++) {
        if (i > 600) fail_msg("the server does not answer");
        (void)nanosleep(&(struct timespec){ 0, 50000000 }, NULL);
    }
}

/* SIGTERM: waits for clients; SIGINT: in order; SIGQUIT, SIGKILL: as if power failed. */
static inline void postgres_end(postgres *p, int how)
{
    if (p->pid == 0) return;
    (void)kill(p->pid, how);
    (void)waitpid(p->pid, NULL, 0);
    p->pid = 0;
    for (int i = 0; how == SIGKILL && i < 200; i++) { /* its children notice, and let go */
        char        socket[300];
        struct stat s;
        snprintf(socket, sizeof socket, "%s/postmaster.pid", p->data);
        (void)unlink(socket);
        if (stat(socket, &s) != 0 && i > 10) break;
        (void)nanosleep(&(struct timespec){ 0, 20000000 }, NULL);
    }
}

/* false: the package is not there. */
static inline bool postgres_make(postgres *p, bool durable)
{
    glob_t found = { 0 };
    int    status = 1;
    *p = (postgres){ .durable = durable };
    if (glob("/usr/lib/postgresql/*/bin", 0, NULL, &found) != 0) return false;
    snprintf(p->bin, sizeof p->bin, "%s", found.gl_pathv[found.gl_pathc - 1]);
    globfree(&found);
    snprintf(p->data, sizeof p->data, "%s/data", folder);
    snprintf(p->url, sizeof p->url, "postgresql:///postgres?host=%s&user=llap", folder);
    if (geteuid() == 0) assert_int_equal(chown(folder, POSTGRES_NOBODY, POSTGRES_NOBODY), 0);
    char *const arguments[] = { "initdb", "-D", p->data, "-U",         "llap",      "-A",
                                "trust",  "-E", "UTF8",  "--locale=C", "--no-sync", NULL };
    const pid_t pid = postgres_run(p, "initdb", arguments);
    if (waitpid(pid, &status, 0) != pid || status != 0) return false;
    postgres_go(p);
    return true;
}

#endif
