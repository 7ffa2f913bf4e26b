/* `llapdiff serve` as a process of its own. The program includes client.h before. */
#ifndef LLAP_TESTS_SERVE_PROCESS_H
#define LLAP_TESTS_SERVE_PROCESS_H

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

typedef struct program {
    pid_t pid;
    int   port;
} program;

/* argv closed by NULL, without the program's name; its log is appended to log. */
static inline program run_program(char *const *argv, const char *log)
{
    program p = { 0 };
    int     out[2];
    char    text[16] = "";
    assert_int_equal(pipe(out), 0);
    p.pid = fork();
    if (p.pid == 0) {
        char *all[32] = { LLAP_PROGRAM };
        for (int i = 0; i < 30 && argv[i] != NULL; i++) all[i + 1] = argv[i];
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        (void)dup2(out[1], STDOUT_FILENO);
        const int fd = open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        (void)dup2(fd, STDERR_FILENO);
        close(out[0]);
        close(out[1]);
        (void)execv(LLAP_PROGRAM, all);
        _exit(127);
    }
    close(out[1]);
    for (size_t n = 0; n + 1 < sizeof text && read(out[0], text + n, 1) == 1; n++)
        if (text[n] == '\n') break;
    close(out[0]);
    p.port = atoi(text);
    if (p.port == 0) fail_msg("the server did not start, see %s", log);
    return p;
}

/* Its exit code; -1: a signal ended it. */
static inline int end_program(program *p, int how)
{
    int status = 0;
    (void)kill(p->pid, how);
    assert_int_equal(waitpid(p->pid, &status, 0), p->pid);
    p->pid = 0;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

#endif
