# SPDX-License-Identifier: Apache-2.0
"""Compares two outputs by bytes, after the changes that are meant (changes.py) have been made to both."""
import json
import re


class Number(str):
    """A number as it was printed: compared as text, never as a float."""


def parse(text):
    return json.loads(text, parse_int=Number, parse_float=Number, parse_constant=Number)


def render(value, depth=0):
    """The program's own layout, so that a change of nothing but layout shows too."""
    inner, outer = "  " * (depth + 1), "  " * depth
    if isinstance(value, Number):
        return str(value)
    if isinstance(value, dict) and value:
        rows = (inner + json.dumps(k, ensure_ascii=False) + ": " + render(v, depth + 1) for k, v in value.items())
        return "{\n" + ",\n".join(rows) + "\n" + outer + "}"
    if isinstance(value, list) and value:
        return "[\n" + ",\n".join(inner + render(v, depth + 1) for v in value) + "\n" + outer + "]"
    return json.dumps(value, ensure_ascii=False)


def keys_of(path):
    return [a or b for a, b in re.findall(r"\[([^\]]*)\]|([^.\[\]]+)", path)]


def at(value, keys):
    """Every (object, key) that the keys name and that exists."""
    if not keys:
        return
    if isinstance(value, list):
        names = range(len(value)) if keys[0] == "*" else []
    elif isinstance(value, dict):
        names = list(value) if keys[0] == "*" else [keys[0]] if keys[0] in value else []
    else:
        return
    for name in names:
        if len(keys) == 1:
            yield value, name
        else:
            yield from at(value[name], keys[1:])


def instances(value, keys, done=()):
    """Like at(), as the tuple of keys itself."""
    if not keys:
        yield done
    elif isinstance(value, list) and keys[0] == "*":
        for i, v in enumerate(value):
            yield from instances(v, keys[1:], done + (i,))
    elif isinstance(value, dict):
        for k in list(value) if keys[0] == "*" else [k for k in [keys[0]] if k in value]:
            yield from instances(value[k], keys[1:], done + (k,))


def get(value, where):
    for k in where:
        value = value[k]
    return value


def has(value, where):
    try:
        get(value, where)
        return True
    except (KeyError, IndexError, TypeError):
        return False


def rekey(obj, old, new):
    items = list(obj.items())
    obj.clear()
    obj.update((new if k == old else k, v) for k, v in items)


def texts(value, change):
    """Changes every text in place; returns the changed value and how many were."""
    if isinstance(value, str) and not isinstance(value, Number):
        new = change(value)
        return new, int(new != value)
    count = 0
    if isinstance(value, (dict, list)):
        for k in list(value) if isinstance(value, dict) else range(len(value)):
            value[k], n = texts(value[k], change)
            count += n
    return value, count


def op_add(rule, old, new):
    count = 0
    for where in list(instances(new, keys_of(rule["path"]))):
        if has(old, where):
            continue
        check = rule.get("check")
        if check and not check(get(new, where), new):
            continue
        del get(new, where[:-1])[where[-1]]
        count += 1
    return count


def op_remove(rule, old, new):
    count = 0
    for where in reversed(list(instances(old, keys_of(rule["path"])))):
        if not has(new, where):
            del get(old, where[:-1])[where[-1]]
            count += 1
    return count


def op_rename(rule, old, new):
    found = list(at(old, keys_of(rule["path"])))
    for obj, key in found:
        rekey(obj, key, rule["to"])
    return len(found)


def op_move(rule, old, new):
    keys, to = keys_of(rule["path"]), keys_of(rule["to"])
    if not has(old, keys) or not has(new, to):
        return 0
    if get(old, keys) != get(new, to):
        return 0  # which then shows as one key gone and another new
    del get(old, keys[:-1])[keys[-1]]
    del get(new, to[:-1])[to[-1]]
    return 1


def op_order(rule, old, new):
    count = 0
    for where in list(instances(old, keys_of(rule["path"]))):
        if not has(new, where):
            continue
        a, b = get(old, where), get(new, where)
        if isinstance(a, dict) and isinstance(b, dict) and list(a) != list(b):
            for obj in (a, b):
                items = sorted(obj.items())
                obj.clear()
                obj.update(items)
            count += 1
    return count


def op_value(rule, old, new):
    count = 0
    for obj, key in at(old, keys_of(rule["path"])):
        change = rule["map"]
        value = change(obj[key]) if callable(change) else change.get(obj[key], obj[key])
        if value != obj[key]:
            obj[key] = type(obj[key])(value) if isinstance(obj[key], Number) else value
            count += 1
    return count


def op_ignore(rule, old, new):
    count = 0
    for where in list(instances(old, keys_of(rule["path"]))):
        if not has(new, where) or get(old, where) == get(new, where):
            continue
        owner, check = get(old, where[:-1]), rule.get("check")
        if check and not check(get(old, where), get(new, where), owner):
            continue
        owner[where[-1]] = get(new, where)
        count += 1
    return count


OPS = {"add": op_add, "remove": op_remove, "rename": op_rename, "move": op_move, "order": op_order,
       "value": op_value, "ignore": op_ignore}


def as_json(text):
    try:
        return parse(text) if text[:1] in ("{", "[") else None
    except ValueError:
        return None


def leaves(value, path=""):
    """(path, text) of everything in it, in order."""
    if isinstance(value, dict) and value:
        for k, v in value.items():
            yield from leaves(v, path + "." + k if path else k)
    elif isinstance(value, list) and value:
        for i, v in enumerate(value):
            yield from leaves(v, "%s[%d]" % (path, i))
    else:
        yield path, render(value)


def json_difference(old, new):
    a, b = dict(leaves(old)), dict(leaves(new))
    rows = [(p, a.get(p, "-"), b.get(p, "-")) for p in list(a) + [p for p in b if p not in a] if a.get(p) != b.get(p)]
    return rows or [("order of keys", " ".join(a)[:300], " ".join(b)[:300])]


def text_difference(name, old, new):
    a, b = old.split("\n"), new.split("\n")
    for i in range(max(len(a), len(b))):
        x, y = (t[i] if i < len(t) else "-" for t in (a, b))
        if x != y:
            return [("%s, line %d" % (name, i + 1), x[:300], y[:300])]
    return []


def apply_refused(rule, job_words, new, data):
    if not set(rule["words"]) & set(job_words) or new["exit"] not in (2, 3):
        return False
    message = json.dumps(data) if data else new["err"]
    return rule["hint"] in message


def is_of_job(rule, job_words):
    """Whether the rule is of a job with these words, flags or values, of its command line and files: one of its `words`, one of its `beside`, and none of its `without`."""
    names = set(re.findall(r"[-.\w]+", " ".join(job_words)))
    if rule["op"] != "refused" and "words" in rule and not names & set(rule["words"]):
        return False
    if "beside" in rule and not names & set(rule["beside"]):
        return False
    return not names & set(rule.get("without", ()))


def compare(kind, job_words, old, new, rules, used):
    """Differences of two results as (where, old, new); [] if there are none. Counts in used[] what each rule did."""
    if old == new:
        return []
    a, b = as_json(old["out"]), as_json(new["out"])
    rules = [(i, r) for i, r in enumerate(rules) if kind in r.get("of", (kind,)) and is_of_job(r, job_words)]
    for i, rule in rules:
        if rule["op"] == "moved" and old["exit"] == new["exit"] and (None in (a, b) or rule["check"](a, b)):
            used[i] += 1
            return []
        if rule["op"] == "refused" and apply_refused(rule, job_words, new, b):
            used[i] += 1
            return []
    rows, exit_old = [], old["exit"]
    err, out = old["err"], old["out"]
    layout = a is not None and b is not None and render(a) + "\n" == out and render(b) + "\n" != new["out"]
    for i, rule in rules:
        if rule["op"] == "exit":
            if "path" not in rule or a is not None and any(o[k] == rule["value"] for o, k in at(a, keys_of(rule["path"]))):
                changed = rule["map"].get(exit_old, exit_old)
                used[i] += changed != exit_old
                exit_old = changed
        elif rule["op"] == "text":
            def change(text, rule=rule):
                return re.sub(rule["old"], rule["new"], text)
            a, n = texts(a, change) if a is not None else (a, 0)
            changed = change(err), change(out) if a is None and kind != "expanded" else out
            used[i] += n + (changed != (err, out))
            err, out = changed
        elif rule["op"] == "output":
            if re.search(rule["old"], out + (err if rule.get("whole") else "")) and re.search(rule["new"], new["out"]):
                used[i] += 1
                a, b, out = None, None, new["out"]
                if rule.get("whole"):
                    err, exit_old = new["err"], new["exit"]
        elif rule["op"] not in ("refused", "moved") and a is not None and b is not None:
            used[i] += OPS[rule["op"]](rule, a, b)
    if exit_old != new["exit"]:
        rows.append(("exit status", str(old["exit"]), str(new["exit"])))
    rows += text_difference("stderr", err, new["err"])
    if a is None or b is None:
        rows += text_difference("stdout", out, new["out"])
    elif render(a) != render(b):
        rows += json_difference(a, b)
    elif layout:
        rows.append(("layout of the JSON only", "", ""))
    return rows
