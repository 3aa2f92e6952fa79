"""Writes a test of every public function.

    generate.py null OUT.c HEADER...    one call for each pointer argument, with NULL for it
    generate.py forked OUT.c HEADER...  one call in a child, on handles that its parent has opened

A function that the headers have and this file cannot call ends it with an error, so a new function
is tested, or the build fails. What a call with NULL means is in MAY_BE_NULL; anywhere else the
result is MCDS_INVALID."""
import re
import sys

STRUCTURES = ("counter limit ids lock visitors online set table views array list log cache semaphore once queue").split()
OPAQUE = {"mcds_" + name: name for name in STRUCTURES}
OPAQUE |= {"mcds_store": "store", "mcds_pipeline": "pipeline", "mcds_sim": "sim",
           "mcds_sim_client": "client"}
UNMADE = {"struct mcds_uri", "mcds_elements", "mcds_fill"}  # only the library makes one: always NULL

# (function without mcds_ and _start, parameter). The comments in the headers promise each.
MAY_BE_NULL = {(name + "_open", "options") for name in STRUCTURES if name != "views"}
MAY_BE_NULL |= {
    ("open", "options"), ("open_backend", "options"), ("pipeline_open", "options"),
    ("sim_open", "options"), ("open_backend", "backend_state"), ("sim_client_add", "client_out"),
    ("counter_add", "value_out"), ("limit_take", "value_out"), ("table_incr", "value_out"), ("visitors_hit", "visitor"),
    ("set_add", "changed_out"), ("set_remove", "changed_out"), ("table_remove", "changed_out"),
    ("list_push_many", "pushed_out"), ("log_put_many", "put_out"), ("log_scan", "range"),
    ("semaphore_resize", "above_out"), ("cache_fetch", "state_out"), ("cache_put", "value"), ("once_begin", "code_out"),
    ("queue_push_many", "pushed_out"),
    ("log_scan", "info_out"), ("log_tail", "info_out"), ("fail", "format"),
}

DEAD_ID = "x" * 21  # of a job of a queue
TEXTS = {"uri": "memory:", "text": "2:0:0:0", "path": "", "format": "x"}
ZERO = {"at_ms", "when_ms", "ttl_ms", "skip", "limit", "delta"}
VERBS = {"get_holder": "holder", "try_acquire": "acquire", "acquire_shared": "acquire", "try_acquire_shared": "acquire",
         "made_with": "open",
         "change_by": "change"}
INTEGERS = {"int", "int32_t", "uint32_t", "uint64_t", "int64_t", "size_t"}


CALLBACKS = {}  # mcds_X_cb: its result and its parameters


class Parameter:
    def __init__(self, text):
        text = " ".join(text.split())
        function = re.fullmatch(r"(mcds_\w+_cb) (\w+)", text)
        self.signature = function and CALLBACKS[function[1]]
        if function:
            self.name, self.type = function[2], "function"
            return
        array = re.fullmatch(r"(.*)\[\w+\]", text)
        text = array[1].replace("char ", "char *") if array else text
        self.is_array = bool(array)
        whole = re.fullmatch(r"(.*?)(\w+)", text)
        self.name, self.type = whole[2], whole[1].strip()

    @property
    def is_pointer(self):
        return self.type == "function" or "*" in self.type or self.type == "mcds_bytes"

    @property
    def base(self):
        return self.type.replace("const ", "").replace("*", "").strip()


def split(text):
    """At commas outside parentheses."""
    parts, depth = [""], 0
    for c in text:
        depth += (c == "(") - (c == ")")
        if c == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]


def functions(path):
    with open(path, encoding="ascii") as file:
        text = re.sub(r"/\*.*?\*/", " ", file.read(), flags=re.S)
    text = re.sub(r"^#define (\\\n|.)*$", "", text, flags=re.M)
    text = text.replace("MCDS_CHECKED", "")
    for found in re.finditer(r"typedef (\w+) \(\*(mcds_\w+_cb)\)\((.*?)\);", text, flags=re.S):
        CALLBACKS[found[2]] = found[1], " ".join(found[3].split())
    for found in re.finditer(r"MCDS_API\s+(.*?)\b(mcds_\w+)\((.*?)\)\s*(MCDS_PRINTF\([^)]*\))?;",
                             text, flags=re.S):
        parameters = [part for part in split(found[3]) if part not in ("void", "...")]
        yield " ".join(found[1].split()), found[2], [Parameter(p) for p in parameters]


def argument(function, parameter, before):
    """Something valid; adds to `before` what it needs."""
    name, base = parameter.name, parameter.base if parameter.type != "function" else ""
    if parameter.type == "function":
        return f"{function}_{name}"
    if base in UNMADE or parameter.type == "void *":
        return "NULL"
    if base == "mcds_sim_program":
        return "no_program"
    if parameter.type == "mcds_bytes":
        return f'mcds_text("{DEAD_ID if name == "id" else "x"}")'
    if base == "char" and parameter.type == "const char *":
        return f'"{TEXTS.get(name, "x")}"' if name != "path" else "world.path"
    if base in OPAQUE and parameter.type.endswith("**"):
        return f"&world.made_{OPAQUE[base]}"
    if base in OPAQUE:
        return f"world.{OPAQUE[base]}"
    if base == "mcds_lease" and re.search("_re(new|lease)|_export", function):
        before.append("mcds_lease lease = MCDS_LEASE_INIT;")
        before.append("assert_int_equal(mcds_lock_try_acquire(world.lock, &lease), MCDS_OK);")
        return "&lease"
    if base == "mcds_permit" and re.search("_re(new|lease)", function):
        before.append("mcds_permit permit = MCDS_PERMIT_INIT;")
        before.append("assert_int_equal(mcds_semaphore_resize(world.semaphore, 1, NULL), MCDS_NOT_FOUND);")
        before.append("permit.lease.state = 2;")
        return "&permit"
    if base == "mcds_job" and re.search("_(done|again|longer)", function):
        before.append("mcds_job job = MCDS_JOB_INIT;")
        before.append("mcds_value bytes = MCDS_VALUE_INIT;")
        before.append('assert_int_equal(mcds_queue_push(world.queue, mcds_text("x"), 0), MCDS_OK);')
        before.append("assert_int_equal(mcds_queue_next(world.queue, 0, &job, &bytes), MCDS_OK);")
        return "&job"
    if base == "mcds_cache_claim" and re.search("_(put|fail|renew|release)", function):
        before.append("mcds_cache_claim claim = {0};")
        before.append("mcds_value none = MCDS_VALUE_INIT;")
        before.append('assert_int_equal(mcds_cache_look(world.cache, mcds_text("x"), NULL, 0, 0, &none, '
                      "&claim), MCDS_NOT_FOUND);")
        return "&claim"
    if base == "mcds_once_run" and re.search("_(renew|finish|abandon)", function):
        before.append("mcds_once_run run = MCDS_ONCE_RUN_INIT;")
        before.append("mcds_value none = MCDS_VALUE_INIT;")
        before.append('assert_int_equal(mcds_once_begin(world.once, mcds_text("x"), mcds_text(""), 0, &run, '
                      "&none, NULL), MCDS_OK);")
        return "&run"
    if base == "mcds_views_options":
        before.append("mcds_views_options options = views_without_database();")
        return "&options"
    if base == "mcds_backend":
        before.append("mcds_backend backend = {.version = MCDS_BACKEND_VERSION};")
        return "&backend"
    if name == "hold_ms":
        return "60000"
    if parameter.type in INTEGERS:
        return "0" if name in ZERO else "1"
    if base == "mcds_bytes":
        before.append(f'mcds_bytes {name}[1] = {{mcds_text("x")}};')
        return name
    if base in ("char", "void"):
        before.append(f"char {name}[MCDS_LOG_CURSOR_TEXT] = {{0}};")
        return name
    if parameter.type.endswith("*") and "**" not in parameter.type:
        zero = "0" if base in INTEGERS else "false" if base == "bool" else "{0}"
        before.append(f"{base} {name} = {zero};")
        return f"&{name}"
    sys.exit(f"generate.py: no argument for {function}: {parameter.type} {name}")


def stem(function):
    return re.sub(r"_start$", "", function.removeprefix("mcds_"))


def names_of(function):
    """Noun and verb of its sentence: counter and add of mcds_counter_add."""
    noun, _, verb = stem(function).partition("_")
    if noun == "elements":
        return "array", "elements_add"
    if noun == "fill":
        return "cache", "fill_add"
    if stem(function) == "limit_timeout" or noun not in STRUCTURES and noun not in ("pipeline", "sim"):
        noun, verb = "store", stem(function)
    if verb in ("open", "open_backend"):
        verb = ""
    return noun.replace("sim", "simulation"), VERBS.get(verb, verb)


def write_callback(out, function, parameter):
    result, inputs = parameter.signature
    names = [part.split("*")[-1].split()[-1] for part in split(inputs)]
    values = {"void": "", "int": "    return 0;\n"}
    out.append(f"static {result} {function}_{parameter.name}({inputs})\n{{")
    out.extend(f"    (void){name};" for name in names)
    out.append(values.get(result, "    return true;\n") + "}\n")


def write_call(out, result, function, parameters, which):
    """The call with NULL for the parameter of this number."""
    before, arguments = [], []
    for i, parameter in enumerate(parameters):
        nothing = "(mcds_bytes){NULL, 5}" if parameter.type == "mcds_bytes" else "NULL"
        arguments.append(nothing if i == which else argument(function, parameter, before))
    may = (stem(function), parameters[which].name) in MAY_BE_NULL or \
        parameters[which].name == "context" or function.endswith("_close")
    out.append(f'    print_message("  {parameters[which].name}\\n");')
    out.append("    {\n        struct world world;\n        begin(&world);")
    out.extend(f"        {line}" for line in before)
    call = f"{function}({', '.join(arguments)})"
    if result != "int":
        out.append(f"        (void){call};" if result != "void" else f"        {call};")
    elif function == "mcds_fail":
        out.append(f"        assert_int_equal({call}, 1);")
    else:
        out.append(f"        int result = {call};")
        out.append("        assert_int_not_equal(result, MCDS_INVALID);" if may else
                   '        assert_missing(result, "{}", "{}");'.format(*names_of(function)))
    out.extend(f"        mcds_value_free(&{name});"
               for name in re.findall(r"mcds_value (\w+) =", "".join(before)))
    out.append("        end(&world);\n    }")


def is_of_a_handle(result, function, parameters):
    """Whether a child that calls it gets MCDS_INVALID."""
    handles = set(OPAQUE) - {"mcds_sim", "mcds_sim_client"}
    return result == "int" and any(p.type != "function" and p.base in handles and "**" not in p.type
                                   for p in parameters)


def write_forked(out, function, parameters):
    before = []
    arguments = [argument(function, parameter, before) for parameter in parameters]
    out.append("    struct world world;\n    begin(&world);")
    out.extend(f"    {line}" for line in before)
    out.append("    pid_t child = fork();\n    if (child == 0)")
    out.append(f"        end_child({function}({', '.join(arguments)}));")
    out.append("    assert_refused_as_forked(child);")
    out.extend(f"    mcds_value_free(&{name});"
               for name in re.findall(r"mcds_value (\w+) =", "".join(before)))
    out.append("    end(&world);")


def write_null(out, result, function, parameters):
    for i, parameter in enumerate(parameters):
        if parameter.is_pointer:
            write_call(out, result, function, parameters, i)


def main():
    out = ['#include "arguments/null_world.h"\n']
    tested, count = [], 0
    is_forked = sys.argv[1] == "forked"
    for path in sys.argv[3:]:
        for result, function, parameters in functions(path):
            count += 1
            if not (is_of_a_handle(result, function, parameters) if is_forked else
                    any(parameter.is_pointer for parameter in parameters)):
                continue
            for parameter in parameters:
                if parameter.type == "function":
                    write_callback(out, function, parameter)
            out.append(f"static void test_{function}(void **state)\n{{\n    (void)state;")
            if is_forked:
                write_forked(out, function, parameters)
            else:
                write_null(out, result, function, parameters)
            out.append("}\n")
            tested.append(function)
        with open(path, encoding="ascii") as file:
            declared = re.findall(r"^MCDS_API ", file.read(), flags=re.M)
        count -= len(declared)
        if count != 0:
            sys.exit(f"generate.py: {path}: {count:+} functions are not understood")
    out.append("int main(void)\n{\n    const struct CMUnitTest tests[] = {")
    out.extend(f"        cmocka_unit_test(test_{function})," for function in tested)
    out.append("    };\n    return cmocka_run_group_tests(tests, NULL, NULL);\n}")
    with open(sys.argv[2], "w", encoding="ascii") as file:
        file.write("\n".join(out) + "\n")


main()
