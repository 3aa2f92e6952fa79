/* The runner of all rows:
 *
 *   article STRUCTURE...     run these rows, or all of them, and print the matrix
 *   article --table          print the table of docs/article.md
 *   article --check FILE     is the table in FILE the one that --table prints?
 *   article --rewrite FILE   put it there */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "article/document.h"
#include "article/rows.h"

static const struct rows *const all_rows[] = {
    &shared_rows, &wire_rows, &lock_rows,   &counter_rows, &visitors_rows, &online_rows,
    &views_rows,  &log_rows,  &array1_rows, &array2_rows,  &table_rows};
#define STRUCTURES (sizeof all_rows / sizeof all_rows[0])

#define TIMELINE_CAPACITY 16384

bool row_is_not_so(const char *file, int line, const char *what)
{
    printf("%s:%d: not so: %s\n", file, line, what);
    return false;
}

static const char *skipped; /* why the part that runs did not show anything */

bool row_is_skipped(const char *why)
{
    skipped = why;
    return true;
}

bool row_answers(const char *file, int line, const char *what, int expected, int answer)
{
    if (answer == expected)
        return true;
    printf("%s:%d: %s\n    answers %s and not %s: %s\n", file, line, what,
           mcds_result_name(answer), mcds_result_name(expected), mcds_errmsg());
    return false;
}

static void print_timeline(const struct world *world)
{
    static char text[TIMELINE_CAPACITY];
    (void)mcds_sim_timeline(world->sim, text, sizeof text);
    fputs(text, stdout);
}

enum verdict { WRONG, SHOWN, SKIPPED };

static enum verdict run(const struct row *row, bool (*part)(struct world *world),
                        enum world_kind kind)
{
    static struct world world;
    if (!world_open_as(&world, kind)) {
        puts("no memory for a world");
        return WRONG;
    }
    skipped = NULL;
    bool shown = part(&world);
    if (!shown)
        print_timeline(&world);
    world_close(&world);
    if (skipped != NULL)
        printf("[  SKIPPED ] %s, %s\n", row->name, skipped);
    return !shown ? WRONG : skipped != NULL ? SKIPPED : SHOWN;
}

/* Ours, on servers of every kind. */
static enum verdict run_ours(const struct row *row)
{
    enum verdict verdict = SHOWN;
    for (int kind = WORLD_META; kind <= WORLD_PROXY && verdict == SHOWN; kind++)
        verdict = run(row, row->ours, (enum world_kind)kind);
    return verdict;
}

/* Returns how many parts did not go as they should. */
static unsigned run_row(const struct row *row)
{
    static const char *const fails[] = {"DOES NOT FAIL", "fails", "skipped"};
    static const char *const holds[] = {"DOES NOT HOLD", "holds", "skipped"};
    if (row->article == NULL) {
        printf("%-40s no test: %s\n", row->name, row->cure);
        return 0;
    }
    enum verdict article = run(row, row->article, WORLD_META);
    enum verdict ours = run_ours(row);
    printf("%-40s %-16s %s\n", row->name, fails[article], holds[ours]);
    return (article == WRONG ? 1u : 0u) + (ours == WRONG ? 1u : 0u);
}

static bool is_asked_for(const char *structure, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], structure) == 0)
            return true;
    return count == 0;
}

static int run_all(int count, char **names)
{
    unsigned wrong = 0;
    unsigned rows = 0;
    printf("%-40s %-16s %s\n", "row", "the article's", "ours");
    for (size_t i = 0; i < STRUCTURES; i++)
        for (size_t j = 0; j < all_rows[i]->count; j++)
            if (is_asked_for(all_rows[i]->structure, count, names)) {
                wrong += run_row(&all_rows[i]->at[j]);
                rows++;
            }
    printf("%u rows, %u wrong\n", rows, wrong);
    return wrong > 0 || rows == 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int count, char **arguments)
{
    const char *first = count > 1 ? arguments[1] : "";
    if (strcmp(first, "--table") == 0 && count == 2)
        return document_print(all_rows, STRUCTURES);
    if (strcmp(first, "--check") == 0 && count == 3)
        return document_check(all_rows, STRUCTURES, arguments[2]);
    if (strcmp(first, "--rewrite") == 0 && count == 3)
        return document_rewrite(all_rows, STRUCTURES, arguments[2]);
    return run_all(count - 1, arguments + 1);
}
