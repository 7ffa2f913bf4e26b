/* HTTPS: certificates change while the server runs, and nobody's answer is cut. */
#include "world.h"

#include <gnutls/gnutls.h>
#include <gnutls/x509.h>

/* ---- a certificate of this test's own ---- */

static char store[128], certificate_path[128], key_path[128]; /* the server's until it stops */

static void write_pem(const char *path, const gnutls_datum_t *pem)
{
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(pem->data, 1, pem->size, f), pem->size);
    fclose(f);
}

static void make_certificate(int serial)
{
    gnutls_x509_privkey_t key;
    gnutls_x509_crt_t     crt;
    gnutls_datum_t        pem;
    const unsigned char   number = (unsigned char)serial;
    const unsigned int    bits = GNUTLS_CURVE_TO_BITS(GNUTLS_ECC_CURVE_SECP256R1);
    assert_int_equal(gnutls_x509_privkey_init(&key), 0);
    assert_int_equal(gnutls_x509_privkey_generate(key, GNUTLS_PK_EC, bits, 0), 0);
    assert_int_equal(gnutls_x509_crt_init(&crt), 0);
    assert_int_equal(gnutls_x509_crt_set_version(crt, 3), 0);
    assert_int_equal(gnutls_x509_crt_set_serial(crt, &number, 1), 0);
    assert_int_equal(gnutls_x509_crt_set_activation_time(crt, time(NULL) - 60), 0);
    assert_int_equal(gnutls_x509_crt_set_expiration_time(crt, time(NULL) + 3600), 0);
    assert_int_equal(gnutls_x509_crt_set_dn(crt, "CN=localhost", NULL), 0);
    assert_int_equal(gnutls_x509_crt_set_key(crt, key), 0);
    assert_int_equal(gnutls_x509_crt_sign2(crt, crt, key, GNUTLS_DIG_SHA256, 0), 0);
    assert_int_equal(gnutls_x509_crt_export2(crt, GNUTLS_X509_FMT_PEM, &pem), 0);
    write_pem(certificate_path, &pem);
    gnutls_free(pem.data);
    assert_int_equal(gnutls_x509_privkey_export2(key, GNUTLS_X509_FMT_PEM, &pem), 0);
    write_pem(key_path, &pem);
    gnutls_free(pem.data);
    gnutls_x509_crt_deinit(crt);
    gnutls_x509_privkey_deinit(key);
}

/* ---- a client ---- */

typedef struct secure {
    gnutls_certificate_credentials_t trust;
    gnutls_session_t                 session;
    int                              fd, serial; /* of the certificate that it was shown */
    char                             heard[1 << 16];
    size_t                           n;
} secure;

static void begin(secure *c, int port)
{
    gnutls_x509_crt_t crt;
    unsigned char     serial[32];
    unsigned int      n_shown;
    size_t            n = sizeof serial;
    c->n = 0;
    c->fd = dial(port);
    assert_true(c->fd >= 0);
    assert_int_equal(gnutls_certificate_allocate_credentials(&c->trust), 0);
    assert_int_equal(gnutls_init(&c->session, GNUTLS_CLIENT), 0);
    assert_int_equal(gnutls_set_default_priority(c->session), 0);
    assert_int_equal(gnutls_credentials_set(c->session, GNUTLS_CRD_CERTIFICATE, c->trust), 0);
    gnutls_transport_set_int(c->session, c->fd);
    assert_int_equal(gnutls_handshake(c->session), 0);
    const gnutls_datum_t *shown = gnutls_certificate_get_peers(c->session, &n_shown);
    assert_non_null(shown);
    assert_int_equal(gnutls_x509_crt_init(&crt), 0);
    assert_int_equal(gnutls_x509_crt_import(crt, shown, GNUTLS_X509_FMT_DER), 0);
    assert_int_equal(gnutls_x509_crt_get_serial(crt, serial, &n), 0);
    c->serial = serial[n - 1];
    gnutls_x509_crt_deinit(crt);
}

static void say(secure *c, const char *text)
{
    assert_int_equal(gnutls_record_send(c->session, text, strlen(text)), strlen(text));
}

/* false: the connection ends before that was said. */
static bool hear(secure *c, const char *text)
{
    ssize_t got = 1;
    c->heard[c->n] = '\0';
    while (strstr(c->heard, text) == NULL && got > 0) {
        got = gnutls_record_recv(c->session, c->heard + c->n, sizeof c->heard - c->n - 1);
        if (got > 0) c->heard[c->n += (size_t)got] = '\0';
    }
    return got > 0;
}

static void end(secure *c)
{
    gnutls_deinit(c->session);
    gnutls_certificate_free_credentials(c->trust);
    close(c->fd);
}

/* ---- the tests ---- */

static void certificates_change(void **state)
{
    (void)state;
    static const char row[] = "entity,time,v0\ns000,2000-01-01T00:00:00Z,1\n";
    static secure     listener, client;
    char              text[512];
    snprintf(store, sizeof store, "%s/secure.db", folder);
    snprintf(certificate_path, sizeof certificate_path, "%s/cert.pem", folder);
    snprintf(key_path, sizeof key_path, "%s/key.pem", folder);
    make_certificate(1);
    llap_server *s = serve(
        (llap_serve_opts){ .store = store, .certificate = certificate_path, .key = key_path });
    const int port = llap_server_port(s);
    snprintf(text, sizeof text,
             "POST /v1/streams/ward/readings HTTP/1.1\r\nHost: localhost\r\n"
             "Content-Type: text/csv\r\nContent-Length: %zu\r\n\r\n%s",
             sizeof row - 1, row);
    begin(&client, port);
    say(&client, text);
    assert_true(hear(&client, "\"number\":1,"));
    begin(&listener, port);
    say(&listener, "GET /v1/streams/ward/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_true(hear(&listener, "event: forecast"));
    for (int i = 2; i < 8; i += 2) {
        for (int k = 0; k < 2; k++) { /* the first of them is not yet over when the next comes */
            make_certificate(i + k);
            CHECK_OK(llap_server_reload(s));
        }
        assert_true(hear(&listener, "\r\n0\r\n\r\n")); /* it is told to come again */
        end(&listener);
        /* who is there goes on, to the end of this request */
        client.n = 0;
        say(&client, "GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_true(hear(&client, "Connection: close") && hear(&client, "\"live\":true"));
        assert_int_equal(client.serial, i - 1);
        end(&client);
        begin(&client, port);
        begin(&listener, port);
        assert_int_equal(client.serial, i + 1);
        say(&listener, "GET /v1/streams/ward/events HTTP/1.1\r\nHost: localhost\r\n\r\n");
        assert_true(hear(&listener, "retry: "));
    }
    end(&client);
    llap_server_stop(s);
    end(&listener);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(certificates_change) };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
