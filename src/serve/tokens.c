/* Who may do what: a file of tokens, and looking for one. */
#include "base/alloc.h"
#include "base/error.h"
#include "base/file.h"
#include "base/text.h"
#include "serve/serve.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>

enum { TOKENS_MAX = 1000, FILE_MAX = 1 << 20 };

static const char *const rights[] = {
    [LL_RIGHT_READ] = "read", [LL_RIGHT_WRITE] = "write", [LL_RIGHT_ADMIN] = "admin"
};

/* The next word of a line; "" at its end. */
static const char *word(const char **at, const char *end, size_t *n)
{
    while (*at < end && (**at == ' ' || **at == '\t' || **at == '\r')) (*at)++;
    const char *from = *at;
    while (*at < end && **at != ' ' && **at != '\t' && **at != '\r') (*at)++;
    *n = (size_t)(*at - from);
    return from;
}

static bool is_secret(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!isgraph((unsigned char)s[i])) return false;
    return n >= LL_TOKEN_MIN && n <= LL_TOKEN_MAX;
}

/* "NAME RIGHT TOKEN" */
static llap_status parse_line(const char *line, const char *end, ll_token *t)
{
    size_t      n, n_right, n_secret, n_rest;
    const char *name = word(&line, end, &n), *right = word(&line, end, &n_right);
    const char *secret = word(&line, end, &n_secret);
    (void)word(&line, end, &n_rest);
    if (n_secret == 0 || n_rest > 0)
        return ll_fail(LLAP_EFORMAT, "expected a name, a right and a token");
    snprintf(t->name, sizeof t->name, "%.*s", (int)(n > LL_NAME_MAX ? LL_NAME_MAX + 1 : n), name);
    if (n > LL_NAME_MAX || !ll_name_is_good(t->name))
        return ll_fail(LLAP_EFORMAT, "expected a name of up to 64 letters, digits, '.', '_', '-'");
    for (ll_right r = LL_RIGHT_READ; r <= LL_RIGHT_ADMIN; r++)
        if (strlen(rights[r]) == n_right && memcmp(rights[r], right, n_right) == 0) t->right = r;
    if (t->right == LL_RIGHT_NONE)
        return ll_fail(LLAP_EFORMAT, "expected one of the rights read, write, admin");
    if (!is_secret(secret, n_secret))
        return ll_fail(LLAP_EFORMAT, "expected a token of %d to %d characters", LL_TOKEN_MIN,
                       LL_TOKEN_MAX);
    memcpy(t->secret, secret, n_secret);
    return LLAP_OK;
}

llap_status ll_tokens_parse(const char *text, size_t n, const char *name, ll_tokens **out)
{
    ll_tokens  *t = ll_new(1, sizeof *t + TOKENS_MAX * sizeof *t->token);
    llap_status st = t == NULL ? LLAP_ENOMEM : LLAP_OK;
    const char *at = text, *end = text + n;
    *out = NULL;
    for (size_t line = 1; st == LLAP_OK && at < end; line++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        if (stop == NULL) stop = end;
        size_t      some;
        const char *from = at, *first = word(&from, stop, &some);
        if (some > 0 && *first != '#') {
            st = t->n == TOKENS_MAX ? ll_fail(LLAP_ELIMIT, "more than %d tokens", TOKENS_MAX)
                                    : parse_line(at, stop, &t->token[t->n]);
            t->n += st == LLAP_OK;
        }
        if (st != LLAP_OK) st = ll_fail_in(st, "%s:%zu", name, line);
        at = stop + 1;
    }
    if (st == LLAP_OK && t->n == 0) st = ll_fail(LLAP_EFORMAT, "%s: no token", name);
    if (st == LLAP_OK) *out = t;
    else ll_free(t);
    return st;
}

llap_status ll_tokens_read(const char *path, ll_tokens **out)
{
    char       *text = NULL;
    size_t      n = 0;
    struct stat s;
    *out = NULL;
    if (stat(path, &s) == 0 && (s.st_mode & (S_IROTH | S_IWOTH | S_IWGRP)) != 0)
        return ll_fail(LLAP_EINVAL, "%s: others may read or write it: chmod 600", path);
    llap_status st = ll_file_read(path, FILE_MAX, &text, &n);
    if (st == LLAP_OK) st = ll_tokens_parse(text, n, ll_text_show(path).text, out);
    if (text != NULL) memset(text, 0, n);
    ll_free(text);
    return st;
}

llap_status ll_tokens_make(ll_tokens **out)
{
    unsigned char bytes[24];
    ll_tokens    *t = *out = NULL;
    if (getrandom(bytes, sizeof bytes, 0) != (ssize_t)sizeof bytes)
        return ll_fail(LLAP_EIO, "this system gives no random numbers");
    if ((t = ll_new(1, sizeof *t + sizeof *t->token)) == NULL) return LLAP_ENOMEM;
    t->n = 1;
    t->token[0].right = LL_RIGHT_ADMIN;
    snprintf(t->token[0].name, sizeof t->token[0].name, "page");
    for (size_t i = 0; i < sizeof bytes; i++)
        snprintf(t->token[0].secret + 2 * i, 3, "%02x", bytes[i]);
    *out = t;
    return LLAP_OK;
}

const ll_token *ll_tokens_find(const ll_tokens *t, const char *secret)
{
    char            asked[LL_TOKEN_MAX + 1] = { 0 };
    const size_t    n = strlen(secret);
    const ll_token *found = NULL;
    if (n > LL_TOKEN_MAX) return NULL;
    memcpy(asked, secret, n);
    for (size_t i = 0; i < t->n; i++) { /* every byte of every token, whatever is found */
        volatile unsigned char differ = 0;
        for (size_t k = 0; k < sizeof asked; k++)
            differ = (unsigned char)(differ | (asked[k] ^ t->token[i].secret[k]));
        if (differ == 0) found = &t->token[i];
    }
    return found;
}
