/* Synonyms: words of other programs and the equivalent commands. A word that erases is explained,
 * never offered as a guess. */
#include "parse/synonyms.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

static const struct synonym {
    const char *noun;
    const char *words; /* with blanks around each */
    const char *meant;
} synonyms[] = {
    {"", " incr inc increment incrby ", "'counter add' counts, 'table incr' adds to a value"},
    {"", " decr dec ", "'counter add NAME -1' counts down"},
    {"", " del delete erase unset ",
     "each noun has its own verb for that, and 'help rm' explains how to drop by name"},
    {"", " keys names dir all ", "'ls' lists names"},
    {"", " members smembers items ", "'set scan' prints the elements of a set"},
    {"", " monitor follow subscribe ",
     "'watch' prints each change, 'log tail NAME -f' follows a log"},
    {"", " stats status info check ping ", "'doctor' describes the store, 'ls' lists names"},
    {"", " rename renamenx mv move copy cp ",
     "nothing renames a structure, which is several keys: add its elements to another one"},
    {"", " multi exec transaction txn eval ",
     "a command changes one structure: to change several, run a script under 'lock NAME -- "
     "COMMAND'"},
    {"", " expire ttl pttl pexpire persist ",
     "'ls -l' prints the time left, --ttl of 'counter add' and 'table put' sets it"},
    {"", " lpop rpop blpop brpop ",
     "'queue next NAME --wait TIME' waits for a job and takes it"},
    {"", " repl prompt console cli ", "'shell' is a prompt"},
    {"", " rwlock readlock rlock ", "'lock NAME --shared -- COMMAND' shares a lock"},
    {"", " export save ", "'dump' writes structures into a file"},
    {"", " import restore ", "'load' makes the structures of a dump again"},
    {"", " hash map dict kv hset hget ", "'table' keeps values by key"},
    {"", " jobs job worker workers task tasks enqueue dequeue work reserve ",
     "'queue push' adds a job, 'queue work NAME -- COMMAND' runs COMMAND for each"},
    {"queue", " add put enqueue send publish insert ", "'queue push' does that"},
    {"queue", " pop take get claim reserve receive dequeue shift ", "'queue next' does that"},
    {"queue", " run consume process worker start each ", "'queue work' does that"},
    {"queue", " ack complete finish end ", "'queue done' does that"},
    {"queue", " nack release reject requeue fail back ", "'queue again' does that"},
    {"queue", " renew touch extend ", "'queue longer' does that"},
    {"queue", " list show scan jobs peek fetch ", "'queue ls' does that"},
    {"queue", " len length size stats status ", "'queue count' does that"},
    {"queue", " failed buried dlq errors ", "'queue dead' does that"},
    {"queue", " kick redrive ", "'queue retry' does that"},
    {"queue", " del rm delete remove clear purge ",
     "'queue done' ends a job that is claimed, 'queue discard' a dead one; 'queue drop' erases "
     "the queue"},
    {"", " range lrange rpush ", "'list' keeps values in the order of their pushes"},
    {"", " mutex flock lease run ", "'lock NAME -- COMMAND' runs one at a time"},
    {"", " idempotent idempotency single exactly-once ", "'once KEY -- COMMAND' runs it once"},
    {"", " sem slots permits parallel ", "'semaphore run' runs at most N at a time"},
    {"semaphore", " ls list show info ", "'semaphore holders' does that"},
    {"semaphore", " acquire hold take lock ", "'semaphore run' does that"},
    {"", " elect election lead elector primary ",
     "'leader run' keeps one of many hosts at work"},
    {"leader", " elect campaign lead start acquire lock ", "'leader run' does that"},
    {"leader", " get show info status holder holders ls ", "'leader who' does that"},
    {"leader", " follow observe tail monitor ", "'leader watch' does that"},
    {"leader", " resign release stop depose break stepdown step-down ",
     "the leader resigns when its COMMAND ends; 'lock NAME --break' takes the lead from it"},
    {"leader", " drop rm del delete ",
     "'lock NAME --drop' erases what the store holds of NAME"},
    {"", " ratelimit rate throttle bucket ", "'limit take' limits a rate"},
    {"", " id uuid ulid snowflake sequence serial autoincrement ",
     "'ids next' prints unique numbers"},
    {"ids", " get take new add incr generate ", "'ids next' does that"},
    {"limit", " scan list show all ", "'limit ls' prints the identities"},
    {"limit", " hit incr add acquire allow check ", "'limit take' does that"},
    {"lock", " take hold get obtain grab try ",
     "'lock NAME -- COMMAND' runs one at a time, 'lock acquire NAME' is for a script"},
    {"lock", " unlock free leave ", "'lock release NAME' does that"},
    {"lock", " extend refresh touch keepalive ", "'lock renew NAME' does that"},
    {"lock", " info status show who holder ", "'lock NAME --info' does that"},
    {"lock", " break steal ", "'lock NAME --break' does that"},
    {"lock", " drop rm del delete erase ", "'lock NAME --drop' does that"},
    {"cache", " set put store add write insert fill ",
     "'cache get NAME KEY -- COMMAND' stores what COMMAND prints"},
    {"cache", " fetch read show look ", "'cache get' does that"},
    {"cache", " del rm delete remove invalidate purge evict ",
     "'cache forget' forgets a KEY or a --tag, 'cache clear' all"},
    {"cache", " flush empty ", "'cache clear' does that"},
    {"counter", " incr inc increment incrby plus ", "'counter add' does that"},
    {"counter", " decr dec decrement minus sub ", "'counter add NAME -1' does that"},
    {"counter", " show value read print cat count ", "'counter get' does that"},
    {"counter", " set put ", "a counter has only additions; a table has 'put'"},
    {"counter", " reset ", "'counter take' prints the value and subtracts it"},
    {"counter", " del rm delete erase remove ", "'counter drop' erases the counter"},
    {"visitors", " add beat ", "'visitors hit' does that"},
    {"visitors", " count show members ", "'visitors get' prints the number of visitors"},
    {"online", " add hit count-me join ", "'online beat' does that"},
    {"online", " count show members list ",
     "'online get' prints the number of active visitors"},
    {"views", " add incr ", "'views hit' does that"},
    {"views", " count show ", "'views get' prints the number of views"},
    {"set", " members smembers list ls show all get items keys fetch ",
     "'set scan' prints the elements"},
    {"set", " contains ismember exists in ", "'set has' does that"},
    {"set", " insert put push ", "'set add' does that"},
    {"set", " del rm delete ", "'set remove' removes an element, 'set drop' the whole set"},
    {"set", " len length size card ", "'set count' does that"},
    {"set", " pop ", "'set remove' removes an element by its value"},
    {"table", " keys list ls fetch all dump items range ", "'table scan' prints all entries"},
    {"table", " set add insert hset ", "'table put' does that"},
    {"table", " exists contains ", "'table has' does that"},
    {"table", " inc increment incrby ", "'table incr' does that"},
    {"table", " decr dec ", "'table incr NAME KEY -1' does that"},
    {"table", " del rm delete unset ",
     "'table remove' removes an entry, 'table drop' the whole table"},
    {"table", " len length size ", "'table count' does that"},
    {"list", " add append rpush put insert ", "'list push' does that"},
    {"list", " get range lrange ls show all fetch members ", "'list scan' prints the values"},
    {"list", " pop shift lpop rpop take del rm delete remove ",
     "a list does not remove single values; a set with --list does"},
    {"list", " len length size ", "'list count' does that"},
    {"log", " add append write push ", "'log put' does that"},
    {"log", " get range show cat read all fetch ", "'log scan' prints events"},
    {"log", " watch follow subscribe top last ",
     "'log tail' does that; -f waits for new events"},
    {"log", " del rm delete remove clear ",
     "events leave a log when its retention is over; 'log drop' erases the log"},
    {"array", " fetch get show list ls all members range ", "'array scan' prints the elements"},
    {"array", " put write ", "'array set' does that"},
    {"array", " add push append insert ", "'array change NAME --add ELEMENT' does that"},
    {"array", " del rm delete remove pop ", "'array change NAME --remove ELEMENT' does that"},
    {"array", " len length count size ", "'array scan NAME | wc -l' counts the elements"},
};

static bool has_word(const char *words, const char *typed)
{
    size_t length = strlen(typed);
    for (const char *at = words; length > 0 && (at = strstr(at, typed)) != NULL; at++)
        if (at[-1] == ' ' && at[length] == ' ')
            return true;
    return false;
}

const char *meant_by(const char *noun, const char *typed)
{
    if (strchr(typed, ' ') != NULL)
        return NULL;
    for (size_t i = 0; i < sizeof synonyms / sizeof synonyms[0]; i++)
        if (strcmp(synonyms[i].noun, noun) == 0 && has_word(synonyms[i].words, typed))
            return synonyms[i].meant;
    return NULL;
}
