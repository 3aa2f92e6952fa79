/* hits_uv STORE PORT: a server of libuv that counts its connections in a store, and sends each its
 * number. Try it with: nc localhost PORT
 *
 * One thread serves all connections, also while the store works on a request. */
#include <mcds.h>
#include <mcds/uv.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static mcds_counter *hits;
static mcds_pipeline *pipeline;

struct visit {
    uv_tcp_t socket; /* first: a pointer to it is a pointer to the visit */
    uv_write_t write;
    int64_t number; /* must live until the pipeline has returned the tag */
    char text[256];
};

static void end(uv_handle_t *socket)
{
    free(socket);
}

static void sent(uv_write_t *write, int status)
{
    (void)status; /* a failure means that the visitor has gone */
    uv_close((uv_handle_t *)write->handle, end);
}

/* The loop calls this for each operation that has finished. The tag is the visit. */
static void counted(void *context, const mcds_completion *done)
{
    (void)context;
    struct visit *visit = (struct visit *)(uintptr_t)done->tag;
    if (done->result == MCDS_OK)
        (void)snprintf(visit->text, sizeof visit->text, "You are visitor %lld\n",
                       (long long)visit->number);
    else if (done->result == MCDS_AMBIGUOUS) /* adding again could count twice */
        (void)snprintf(visit->text, sizeof visit->text, "You were counted, or were not\n");
    else /* BUSY, LOST, TIMEOUT, UNAVAILABLE: not counted, and a visitor is served anyway */
        (void)snprintf(visit->text, sizeof visit->text, "Welcome. (%.200s)\n", mcds_errmsg());
    uv_buf_t text = uv_buf_init(visit->text, (unsigned)strlen(visit->text));
    if (uv_write(&visit->write, (uv_stream_t *)&visit->socket, &text, 1, sent) != 0)
        uv_close((uv_handle_t *)&visit->socket, end);
}

static void arrive(uv_stream_t *listener, int status)
{
    struct visit *visit = status == 0 ? calloc(1, sizeof *visit) : NULL;
    if (visit == NULL)
        return;
    (void)uv_tcp_init(listener->loop, &visit->socket);
    (void)uv_accept(listener, (uv_stream_t *)visit); /* cannot fail here */
    mcds_completion refused = {(uintptr_t)visit, MCDS_OK};
    refused.result = mcds_counter_add_start(hits, 1, &visit->number, pipeline, refused.tag);
    if (refused.result != MCDS_OK) /* not started, so no completion will come */
        counted(NULL, &refused);
}

static int serve(int port)
{
    static uv_tcp_t listener;
    static mcds_uv adapter;
    static struct sockaddr_in address;
    uv_loop_t *loop = uv_default_loop();
    int length = sizeof address;
    int code = uv_ip4_addr("127.0.0.1", port, &address);
    if (code != 0 || (code = uv_tcp_init(loop, &listener)) != 0 ||
        (code = uv_tcp_bind(&listener, (struct sockaddr *)&address, 0)) != 0 ||
        (code = uv_listen((uv_stream_t *)&listener, 128, arrive)) != 0 ||
        (code = mcds_uv_attach(&adapter, loop, pipeline, counted, NULL)) != 0) {
        (void)fprintf(stderr, "hits_uv: %s\n", uv_strerror(code));
        return 69;
    }
    (void)uv_tcp_getsockname(&listener, (struct sockaddr *)&address, &length);
    (void)printf("port %d\n", ntohs(address.sin_port));
    (void)fflush(stdout);
    return uv_run(loop, UV_RUN_DEFAULT); /* until a signal ends the process */
}

int main(int count, char **words)
{
    mcds_store *store = NULL;
    int status = 64;
    if (count != 3)
        (void)fputs("usage: hits_uv STORE PORT\n", stderr);
    else if (mcds_open(words[1], NULL, &store) != MCDS_OK ||
             mcds_counter_open(store, "hits", NULL, &hits) != MCDS_OK ||
             mcds_pipeline_open(store, NULL, &pipeline) != MCDS_OK)
        (void)fprintf(stderr, "hits_uv: %s\n", mcds_errmsg());
    else
        status = serve((int)strtol(words[2], NULL, 10));
    mcds_pipeline_close(pipeline);
    mcds_counter_close(hits);
    mcds_close(store);
    return status;
}
