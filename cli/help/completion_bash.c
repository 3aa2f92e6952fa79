/* The completion script for bash, which zsh can run too. */
#include <stdio.h>
#include <string.h>

#include "help/completed.h"
#include "help/completion.h"
#include "io/output.h"
#include "table/commands.h"

/* Adds lines of standard input that begin with $1, each after the text $2, in the format $3. What the
 * store or the configuration has is never expanded by the shell, as the words of compgen -W are. An
 * argument with a minus belongs after --. In an open quote, bash replaces the text after it, so the rest
 * of the line is quoted as that quote needs it; double quotes cannot keep a ! from the history. zsh
 * unquotes what it gets, and quotes it itself, as readline does with the names of files. A line that
 * begins with $' has bytes for no shell. */
static const char add_lines[] =
    "# bash completion for mcds\n"
    "_mcds_in_quote() {\n"
    "    local i c\n"
    "    quoted=\n"
    "    for ((i = 0; i < ${#1}; i++)); do\n"
    "        c=${1:$i:1}\n"
    "        case $quote$c in\n"
    "        \"''\") quoted+=\"'\\\\''\" ;;\n"
    "        '\"\"'|'\"\\'|'\"$'|'\"`') quoted+=\\\\$c ;;\n"
    "        *) quoted+=$c ;;\n"
    "        esac\n"
    "    done\n"
    "}\n"
    "_mcds_lines() {\n"
    "    local line quoted had\n"
    "    while IFS= read -r line; do\n"
    "        [[ $line == \"$1\"* && $line != \"$'\"* ]] || continue\n"
    "        [[ $line != -* || $over || $option ]] || continue\n"
    "        printf -v quoted \"$3\" \"$line\"\n"
    "        if [[ $quote && ! $ZSH_VERSION && $3 == %q ]]; then\n"
    "            [[ $quote$line != '\"'*!* ]] || continue\n"
    "            had=${before#\"$2\"}\n"
    "            _mcds_in_quote \"${line#\"$had\"}\"\n"
    "            quoted=$had$quoted\n"
    "        fi\n"
    "        COMPREPLY+=(\"$2$quoted\")\n"
    "    done\n"
    "}\n";

/* The names of ls, which makes no store: of the noun $1, beginning with $2. A slow store, or a
 * failure, gives none. */
static const char add_names[] =
    "_mcds_names() {\n"
    "    local all=\"${given[*]} $MCDS_STORE\" noun=()\n"
    "    [[ $all != *create=* ]] || return\n"
    "    [[ ! $1 ]] || noun=(--noun \"$1\")\n"
    "    _mcds_lines \"$2\" '' %q < <(timeout 1 \"${w[0]}\" --timeout 500ms \"${given[@]}\" ls "
    "\\\n"
    "        \"${noun[@]}\" 2>/dev/null </dev/null | head -n 1000 | cut -f 2)\n"
    "}\n"
    "_mcds_profiles() {\n"
    "    local config=${XDG_CONFIG_HOME:-$HOME/.config}/mcds/config\n"
    "    _mcds_lines \"$1\" \"$2\" %q < <(sed -n 's/^[[:blank:]]*\\[\\(.*\\)\\].*/\\1/p' \\\n"
    "        \"${MCDS_CONFIG:-$config}\" 2>/dev/null)\n"
    "}\n"
    "_mcds_files() {\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    _mcds_lines \"$1\" \"$2\" %s < <(IPREFIX= PREFIX=$1 compgen -f -- \"$1\")\n"
    "}\n"
    "_mcds_stores() {\n"
    "    if [[ $1 == lmdb:* ]]; then _mcds_files \"${1#lmdb:}\" \"$2lmdb:\"\n"
    "    else _mcds_words 'memory: memcached:// lmdb:' \"$1\" \"$2\"; fi\n"
    "}\n"
    "_mcds_words() {\n"
    "    COMPREPLY+=($(compgen -P \"$3\" -W \"$1\" -- \"$2\"))\n"
    "}\n";

/* The word $1 without its quotes is text; quote is the one that is open, and before is what comes before
 * it. Nothing is expanded. */
static const char unquote[] =
    "_mcds_unquote() {\n"
    "    local i c\n"
    "    text= quote= before=\n"
    "    for ((i = 0; i < ${#1}; i++)); do\n"
    "        c=${1:$i:1}\n"
    "        case $quote$c in\n"
    "        \"''\"|'\"\"') quote= ;;\n"
    "        \"'\"|'\"') quote=$c before=$text ;;\n"
    "        '\"\\') [[ ${1:$((i + 1)):1} != [\\\"\\$\\`\\\\] ]] || i=$((i + 1))\n"
    "            text+=${1:$i:1} ;;\n"
    "        '\\') i=$((i + 1)) text+=${1:$i:1} ;;\n"
    "        *) text+=$c ;;\n"
    "        esac\n"
    "    done\n"
    "}\n";

/* Readline divides words at = and : too, and begins after a quote that is open. The words of the shell
 * are in w, the number of the first part of each in first, and the last one is completed; the reply is
 * without the part before the last division. */
static const char find_words[] =
    "_mcds() {\n"
    "    local rest=$COMP_LINE gap token strip= part i n=-1 text quote before\n"
    "    local -a w first given\n"
    "    w=() first=() given=() COMPREPLY=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        token=${COMP_WORDS[i]} gap=$rest\n"
    "        [[ ! $token ]] || gap=${rest%%\"$token\"*}\n"
    "        rest=${rest#*\"$token\"}\n"
    "        if [[ $n -lt 0 || $gap == [[:space:]]* ]]; then\n"
    "            n=$((n + 1))\n"
    "            w[n]=$token\n"
    "            first[n]=$i\n"
    "        else w[n]+=$token; fi\n"
    "    done\n"
    "    for i in ':' '='; do\n"
    "        part=${w[n]%\"${w[n]##*$i}\"}\n"
    "        [[ $COMP_WORDBREAKS != *$i* || ${#part} -le ${#strip} ]] || strip=$part\n"
    "    done\n"
    "    for ((i = 0; i <= n; i++)); do\n"
    "        _mcds_unquote \"${w[i]}\"\n"
    "        w[i]=$text\n"
    "    done\n"
    "    [[ ! $quote ]] || strip=$before\n"
    "    _mcds_reply\n"
    "    for ((i = 0; i < ${#COMPREPLY[@]}; i++)); do\n"
    "        COMPREPLY[i]=${COMPREPLY[i]#\"$strip\"}\n"
    "    done\n"
    "}\n";

static void print_options_of(const enum option_id *which)
{
    for (int id = 0; id < OPTION_COUNT; id++)
        if (is_among(which, id))
            output_print("--%s ", options[id].word);
}

/* A case for each option whose values are known. $1 is what is typed of the value, and $2 what the
 * word has before it. */
static void print_values(const struct noun *nouns)
{
    output_print("_mcds_value() {\n    case $option in\n");
    for (int id = 0; id < OPTION_COUNT; id++) {
        enum completed completed = completed_option(id);
        if (completed == COMPLETED_NOTHING)
            continue;
        output_print("    ");
        completed_print_option(id, '|');
        output_print(completed == COMPLETED_FILE      ? ") _mcds_files"
                     : completed == COMPLETED_STORE   ? ") _mcds_stores"
                     : completed == COMPLETED_PROFILE ? ") _mcds_profiles"
                                                      : ") _mcds_words '");
        for (size_t i = 0; completed == COMPLETED_CHOICE && options[id].choices[i] != NULL; i++)
            output_print("%s ", options[id].choices[i]);
        if (completed == COMPLETED_NOUN)
            completed_print_nouns(nouns, true);
        output_print("%s \"$1\" \"$2\" ;;\n",
                     completed == COMPLETED_CHOICE || completed == COMPLETED_NOUN ? "'" : "");
    }
    output_print("    esac\n}\n");
}

/* Adds the first argument of a verb, at its place or, if `each`, after it too. */
static void print_argument(const struct noun *nouns, const struct noun *noun,
                           const struct verb *verb)
{
    const struct parameter *argument = verb->arguments[0];
    enum completed completed = completed_argument(argument);
    if (completed == COMPLETED_NOTHING)
        return;
    output_print("%s", argument->each ? "" : "((count > 0)) || ");
    if (completed == COMPLETED_NAME) {
        output_print("_mcds_names '%s' \"$word\"", completed_noun(noun));
    } else if (completed == COMPLETED_FILE) {
        output_print("_mcds_files \"$word\"");
    } else {
        output_print("words+=' ");
        if (completed == COMPLETED_TOPIC)
            completed_print_nouns(nouns, false);
        output_print(completed == COMPLETED_TOPIC ? "exit man'" : "bash zsh fish'");
    }
    output_print("; ");
}

/* The words after a noun: its options, its verbs, and the options of those. */
static void print_noun(const struct noun *nouns, const struct noun *noun)
{
    const struct verb *first = noun->verbs;
    bool is_whole = is_whole_command(noun);
    output_print("    %s) words='", noun->word);
    if (is_whole)
        print_options_of((first++)->options);
    completed_print_verbs(first);
    output_print("'\n        case $verb in\n");
    for (const struct verb *verb = first; verb->word != NULL; verb++) {
        output_print("        %s) words='", verb->word);
        print_options_of(verb->options);
        output_print("'; ");
        print_argument(nouns, noun, verb);
        output_print(";;\n");
    }
    if (is_whole) {
        output_print("        *) [[ ! $verb ]] || count=$((count + 1)); ");
        print_argument(nouns, noun, noun->verbs);
        output_print(";;\n");
    }
    output_print("        esac ;;\n");
}

/* The verbs of the noun after help. */
static void print_topics(const struct noun *nouns)
{
    output_print("    case $noun/$verb in\n");
    for (const struct noun *noun = nouns; noun->word != NULL; noun++) {
        const struct verb *first = noun->verbs + (is_whole_command(noun) ? 1 : 0);
        if (first->word == NULL)
            continue;
        output_print("    help/%s) words+=' ", noun->word);
        completed_print_verbs(first);
        output_print("' ;;\n");
    }
    output_print("    esac\n");
}

/* Reads the words before the last one, $@, up to the -- of a COMMAND; program is their number, or 0. The
 * commands that run one, and the options whose value is the next word, follow. */
static const char read_words[] =
    "_mcds_read() {\n"
    "    local word at=0 seen=0 least\n"
    "    noun= verb= count=0 option= over= program=0 given=()\n"
    "    for word; do\n"
    "        at=$((at + 1))\n"
    "        if [[ $option ]]; then\n"
    "            case $option in\n"
    "            -s|--store|-N|--namespace|--profile) given+=(\"$option\" \"$word\") ;;\n"
    "            esac\n"
    "            option=\n"
    "            continue\n"
    "        fi\n"
    "        if [[ $word == -- ]]; then\n"
    "            case $noun/$verb in\n";

static const char read_options[] =
    "            *) least=0 ;;\n"
    "            esac\n"
    "            if [[ $least -gt 0 && ( $over || $seen -ge $least ) ]]; then\n"
    "                program=$at\n"
    "                return\n"
    "            fi\n"
    "            if [[ ! $over ]]; then over=1; continue; fi\n"
    "        fi\n"
    "        case ${over:+x}$word in\n"
    "        ";

static const char keep_words[] =
    ") option=$word ;;\n"
    "        --store=*|--namespace=*|--profile=*) given+=(\"$word\") ;;\n"
    "        -?*) ;;\n"
    "        *) seen=$((seen + 1))\n"
    "           if [[ ! $noun ]]; then noun=$word\n"
    "           elif [[ ! $verb ]]; then verb=$word\n"
    "           else count=$((count + 1)); fi ;;\n"
    "        esac\n"
    "    done\n"
    "}\n";

static void print_program(const char *noun, const char *verb, size_t least)
{
    output_print("            %s/%s) least=%zu ;;\n", noun, verb, least);
}

static void print_read(const struct noun *nouns)
{
    output_print("%s", read_words);
    completed_programs(nouns, print_program);
    output_print("%s", read_options);
    completed_print_value_options('|');
    output_print("%s", keep_words);
}

/* Completes the COMMAND that begins with the word $1: with bash-completion, where it is there, as
 * without mcds. */
static const char complete_program[] =
    "_mcds_program() {\n"
    "    local name\n"
    "    for name in _comp_command_offset _command_offset; do\n"
    "        declare -F $name >/dev/null || continue\n"
    "        strip=\n"
    "        $name ${first[$1]}\n"
    "        return\n"
    "    done\n"
    "    (($1 < n)) || _mcds_lines \"$word\" '' %s < <(compgen -c -- \"$word\")\n"
    "    _mcds_files \"$word\" ''\n"
    "}\n";

static void print_reply(const struct noun *nouns)
{
    output_print("_mcds_reply() {\n"
                 "    local word=${w[n]} noun verb count option over program words=\n"
                 "    _mcds_read \"${w[@]:1:$((n - 1))}\"\n"
                 "    if ((program > 0)); then _mcds_program $((program + 1)); return; fi\n"
                 "    if [[ $option ]]; then _mcds_value \"$word\" ''; return; fi\n"
                 "    if [[ ! $over && $word == --*=* ]]; then\n"
                 "        option=${word%%%%=*}\n"
                 "        _mcds_value \"${word#*=}\" \"$option=\"\n"
                 "        return\n"
                 "    fi\n"
                 "    case $noun in\n"
                 "    '') words='");
    completed_print_nouns(nouns, false);
    output_print("' ;;\n");
    for (const struct noun *noun = nouns; noun->word != NULL; noun++)
        print_noun(nouns, noun);
    output_print("    esac\n");
    print_topics(nouns);
    output_print("    words+=' ");
    print_options_of(OPTIONS_GLOBAL);
    output_print("'\n"
                 "    [[ $over ]] || _mcds_words \"$words\" \"$word\" ''\n"
                 "}\n");
}

void completion_print_bash(const struct noun *nouns)
{
    output_print("%s%s", add_lines, add_names);
    print_values(nouns);
    print_read(nouns);
    output_print("%s", complete_program);
    print_reply(nouns);
    output_print("%s%s", unquote, find_words);
    output_print("complete -F _mcds mcds\n");
}

/* A file that zsh loads at the first completion is the body of a function with the name of the file:
 * it defines the real one and calls it. zsh completes a COMMAND as it does without mcds. */
void completion_print_zsh(const struct noun *nouns)
{
    output_print("#compdef mcds\n"
                 "autoload -U +X bashcompinit && bashcompinit\n");
    completion_print_bash(nouns);
    output_print("_mcds_zsh() {\n"
                 "    local noun verb count option over program\n"
                 "    local -a given\n"
                 "    _mcds_read \"${(@)words[2,CURRENT-1]}\"\n"
                 "    if ((program > 0)); then\n"
                 "        shift $((program + 1)) words\n"
                 "        ((CURRENT -= program + 1))\n"
                 "        _normal\n"
                 "    else\n"
                 "        _bash_complete -F _mcds\n"
                 "    fi\n"
                 "}\n"
                 "compdef _mcds_zsh mcds\n"
                 "[ \"${funcstack[1]}\" != _mcds ] || _mcds_zsh\n");
}
