/* List: the handle. */
#include "structures/list/list.h"

#include <assert.h>
#include <stdatomic.h>

bool mcds__list_keeps_all(const mcds_list *list)
{
    const mcds_capabilities can = mcds__store_can(list->handle.store);
    return !can.evicts && !can.durable && !mcds__store_answers_here(list->handle.store);
}

void mcds__list_forget_life(mcds_list *list, uint64_t generation)
{
    uint64_t used = generation;
    assert(generation != 0);
    (void)atomic_compare_exchange_strong(&list->used, &used, 0);
    mcds__segment_forget(&list->segments, generation);
}

void mcds__list_end_in_doubt(struct mcds__operation *operation)
{
    assert(operation->result != MCDS_OK);
    if (operation->result == MCDS_BUSY)
        operation->detail = MCDS__WHY(UNFINISHED);
    operation->result = MCDS_AMBIGUOUS;
}

static void destroy_list(struct mcds__handle *handle)
{
    mcds__segments_destroy(&((mcds_list *)handle)->segments);
}

int mcds_list_open(mcds_store *store, const char *name, const mcds_list_options *options,
                   mcds_list **list_out)
{
    mcds_list_options own;
    struct mcds__key key;
    int result = mcds__read_options("list", store, name, list_out,
                                    MCDS__SIZED_mcds_list_options, options, &own);
    if (result != MCDS_OK)
        return result;
    mcds_list *list = mcds__handle_open("list", store, name, sizeof *list, destroy_list);
    if (list == NULL)
        return MCDS_NO_MEMORY;
    mcds__key_begin(&key, mcds__store_ns(store), MCDS__TAG_LIST, name);
    mcds__generation_init(&list->generation, store, &key, MCDS__KIND_LIST);
    mcds__key_begin(&key, mcds__store_ns(store), MCDS__TAG_LIST_SEGMENT, name);
    mcds__segments_init(&list->segments, store, &key, &list->generation.key, true);
    *list_out = list;
    return MCDS_OK;
}

void mcds_list_close(mcds_list *list)
{
    mcds__handle_release((struct mcds__handle *)list);
}
