/* A stream that is being made anew of all its readings keeps nobody from asking about others. */
#include "serve/streams.h"
#include "world.h"

static void others_are_answered(void **state)
{
    (void)state;
    static const char row[] = "entity,time,v0\ns000,2030-01-01T00:00:00Z,1\n",
                      csv[] = "Content-Type: text/csv\r\n",
                      readings[] = "/v1/streams/ward/readings";
    llap_server *s = serve((llap_serve_opts){ .store = in_folder("busy.db"), .workers = 1 });
    const int    port = llap_server_port(s);
    check_reply(ask(port, "POST", readings, csv, w.csv, w.n_csv), 200, "\"number\":1,");
    ll_live *k = ll_live_find(s, "ward");
    assert_non_null(k);
    (void)pthread_mutex_lock(&k->lock); /* as who makes it anew does, for as long as that takes */
    check_reply(ask(port, "GET", "/v1/streams", "", NULL, 0), 200,
                "{\"streams\":[{\"name\":\"ward\",\"ready\":false}]}");
    check_reply(ask(port, "GET", "/v1/streams/ward/forecast", "", NULL, 0), 503, "made anew");
    check_reply(ask(port, "GET", "/v1/streams/ward/history", "", NULL, 0), 503, "made anew");
    check_reply(ask(port, "POST", readings, csv, row, sizeof row - 1), 503, "made anew");
    check_reply(post_csv(port, "/v1/models/air/forecast", "text/csv"), 200, NULL);
    (void)pthread_mutex_unlock(&k->lock);
    check_reply(ask(port, "POST", readings, csv, row, sizeof row - 1), 200, "\"number\":2,");
    check_reply(ask(port, "GET", "/v1/streams/ward/forecast", "", NULL, 0), 200, NULL);
    llap_server_stop(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(others_are_answered) };
    return cmocka_run_group_tests(tests, make_world, remove_world);
}
