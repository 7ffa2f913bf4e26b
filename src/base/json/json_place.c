#include "base/json/json_place.h"

#include <stdlib.h>
#include <string.h>

json_place json_place_of(const char *text, size_t at)
{
    json_place p = { 1, 1 };
    for (size_t i = 0; i < at; i++) {
        p.column += ((unsigned char)text[i] & 0xc0) != 0x80;
        if (text[i] == '\n') p = (json_place){ p.line + 1, 1 };
    }
    return p;
}

static const char *skip_space(const char *s) { return s + strspn(s, " \t\r\n"); }

static const char *skip_string(const char *s) /* from its first quote to behind the last */
{
    for (s++; *s != '"' && *s != '\0'; s++) s += *s == '\\' && s[1] != '\0';
    return s + (*s == '"');
}

/* From the beginning of a value to what follows it: a comma or a bracket. */
static const char *skip_value(const char *s)
{
    int depth = 0;
    do {
        depth += (*s == '{' || *s == '[') - (*s == '}' || *s == ']');
        s = *s == '"' ? skip_string(s) : s + (*s != '\0');
    } while (depth > 0 && *s != '\0');
    return s + strcspn(s, ",]}");
}

static const char *next_value(const char *s)
{
    s = skip_value(s);
    return skip_space(s + (*s == ','));
}

/* The key of these n bytes, as it is written in the object that begins at s; NULL: none. */
static const char *find_key(const char *s, const char *name, size_t n)
{
    if (*s != '{') return NULL;
    for (s = skip_space(s + 1); *s == '"';) {
        const char *end = skip_string(s);
        if ((size_t)(end - s) == n + 2 && memcmp(s + 1, name, n) == 0) return s;
        s = next_value(skip_space(skip_space(end) + 1));
    }
    return NULL;
}

static const char *find_member(const char *s, const char *name, size_t n)
{
    const char *key = find_key(s, name, n);
    return key == NULL ? NULL : skip_space(skip_space(skip_string(key)) + 1);
}

static const char *find_element(const char *s, size_t i)
{
    if (*s != '[') return NULL;
    for (s = skip_space(s + 1); i > 0 && *s != ']' && *s != '\0'; i--) s = next_value(s);
    return *s == ']' || *s == '\0' ? NULL : s;
}

json_place json_place_find(const char *text, const char *path, const char *key)
{
    const char *s = skip_space(text), *next = s;
    for (const char *p = path; *p != '\0' && next != NULL; p += *p == '.') {
        if (*p == '[') {
            char *end;
            next = find_element(s, strtoul(p + 1, &end, 10));
            p = end + (*end == ']');
        } else {
            const size_t n = strcspn(p, ".[");
            next = find_member(s, p, n);
            p += n;
        }
        if (next != NULL) s = next;
    }
    if (key != NULL && next != NULL) next = find_key(s, key, strlen(key));
    return json_place_of(text, (size_t)((next != NULL ? next : s) - text));
}
