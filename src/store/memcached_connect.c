/* When a link may connect, to which address, and for how long it tries. */
#include "base/environment.h"
#include "store/memcached.h"

#define PAUSE_MIN_NS (10 * NS_PER_MS)
#define PAUSE_MAX_NS (200 * NS_PER_MS)

/* After a failed connection nobody tries again for a while; the while grows. */
void mcds__connect_back_off(struct mcds__link *link, const mcds_reason *trouble)
{
    struct mcds__memcached *home = link->lane->home;
    struct mcds__server *server = link->server;
    uint64_t random = mcds__random_u64(home->env);
    (void)pthread_mutex_lock(&home->mutex);
    int64_t span_ns = 3 * server->pause_ns + PAUSE_MIN_NS;
    int64_t pause_ns = PAUSE_MIN_NS + (int64_t)(random % (uint64_t)span_ns);
    server->pause_ns = pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS;
    server->retry_at_ns = mcds__monotonic_ns(home->env) + server->pause_ns;
    server->trouble = trouble;
    server->refusal = link->refusal;
    (void)pthread_mutex_unlock(&home->mutex);
}

bool mcds__connect_may(struct mcds__link *link, mcds_outcome *refusal_out,
                       const mcds_reason **trouble_out)
{
    struct mcds__memcached *home = link->lane->home;
    (void)pthread_mutex_lock(&home->mutex);
    *trouble_out = link->server->trouble;
    *refusal_out = link->server->refusal;
    bool may = mcds__monotonic_ns(home->env) >= link->server->retry_at_ns;
    (void)pthread_mutex_unlock(&home->mutex);
    return may;
}

/* Give the address that is being tried its share of the time. */
static void limit_address(struct mcds__link *link, int64_t now_ns)
{
    int64_t left_ns = link->connected_by_ns - now_ns;
    link->deadline_ns = now_ns + mcds__connection_share_ns(&link->connection, left_ns);
    if (link->deadline_ns < link->lane->deadline_ns)
        link->lane->deadline_ns = link->deadline_ns;
}

static bool open_connection(struct mcds__link *link)
{
    struct mcds__memcached *home = link->lane->home;
    (void)pthread_mutex_lock(&home->mutex);
    int avoided = link->server->avoided;
    (void)pthread_mutex_unlock(&home->mutex);
    return mcds__connection_open(&link->connection, &link->server->address, avoided);
}

bool mcds__connect_begin(struct mcds__link *link)
{
    struct mcds__memcached *home = link->lane->home;
    if (!open_connection(link))
        return false;
    /* Not from before the host's name was looked up, which takes the time it takes. */
    int64_t now_ns = mcds__monotonic_ns(home->env);
    link->connected_by_ns = now_ns + home->connect_timeout_ns;
    limit_address(link, now_ns);
    return true;
}

bool mcds__connect_again(struct mcds__link *link)
{
    if (!open_connection(link))
        return false;
    limit_address(link, mcds__monotonic_ns(link->lane->home->env));
    return true;
}

void mcds__connect_renew(struct mcds__link *link, int64_t now_ns)
{
    link->connected_by_ns = now_ns + link->lane->home->connect_timeout_ns;
    link->deadline_ns = link->connected_by_ns;
}

bool mcds__connect_pass_over(struct mcds__link *link, int64_t now_ns)
{
    struct mcds__memcached *home = link->lane->home;
    (void)pthread_mutex_lock(&home->mutex);
    link->server->avoided = mcds__connection_family(&link->connection);
    (void)pthread_mutex_unlock(&home->mutex);
    if (!mcds__connection_pass_over(&link->connection))
        return false;
    if (link->connected_by_ns <=
        now_ns) /* the program looks late, and this one was not tried */
        mcds__connect_renew(link, now_ns);
    limit_address(link, now_ns);
    return true;
}
