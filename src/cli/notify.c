#include "cli.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* One datagram to the socket of the service manager, which sd_notify(3) describes. */
void cli_notify(const char *state)
{
    const char        *path = getenv("NOTIFY_SOCKET");
    struct sockaddr_un to = { .sun_family = AF_UNIX };
    const size_t       n = path == NULL ? 0 : strlen(path);
    if (n < 2 || n >= sizeof to.sun_path || (*path != '/' && *path != '@')) return;
    memcpy(to.sun_path, path, n);
    if (*path == '@') to.sun_path[0] = '\0';
    const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0) return;
    (void)sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&to,
                 (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n));
    (void)close(fd);
}

void cli_open_many_files(void)
{
    struct rlimit most;
    if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur == most.rlim_max) return;
    most.rlim_cur = most.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &most);
}
