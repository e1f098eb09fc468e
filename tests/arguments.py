#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The complete argument list of a checkout of Megatron-LM, or of whoever adds arguments to it.

    python3 tests/arguments.py FOLDER [FILE:FUNCTION] > tests/arguments/megatron-lm.txt
    python3 tests/arguments.py --self

FUNCTION in FILE (megatron/training/arguments.py:add_megatron_arguments unless told; in older ones parse_args) takes a parser and adds arguments to it, itself,
through functions of the same file, or through ArgumentGroupFactory(SomeConfig), which makes an argument of every field of a dataclass.
Where FILE has a star, it is all files of that pattern, and FUNCTION a method of their classes (MindSpeed-LLM: mindspeed_llm/features_manager/**/*.py:register_args).
The sources are parsed, nothing of them runs: the script needs neither torch nor Megatron. A line of output is

    --name VALUES WHERE

without those that tests/arguments/megatron-lm.txt has where FILE:FUNCTION is told, which is of a fork. VALUES as in argparse: 0, 1, a number, + or *; WHERE is the function that adds it, or the class and its field. The lists in
tests/arguments are compared with the program's table by unit.flags. What the parser does not understand ends it: exit 1.
"""
import ast
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
DEFAULT = "megatron/training/arguments.py:add_megatron_arguments"
NO_VALUE = ("store_true", "store_false", "store_const", "count")


def fail(node, file, text):
    sys.exit(f"{file}:{getattr(node, 'lineno', 0)}: {text}")


def is_call_of(node, name):
    """A call of `name`, plain or as a method."""
    return isinstance(node, ast.Call) and (
        (isinstance(node.func, ast.Name) and node.func.id == name)
        or (isinstance(node.func, ast.Attribute) and node.func.attr == name))


def literal(node, otherwise=None):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return otherwise


class Sources:
    """Classes of all files of the checkout, by name."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.classes = {}
        self.files = {}

    def parse(self, path):
        if path not in self.files:
            self.files[path] = ast.parse((self.folder / path).read_text(encoding="utf-8"), str(path))
        return self.files[path]

    def index(self):
        for path in sorted(self.folder.glob("megatron/**/*.py")):
            for node in self.parse(path.relative_to(self.folder)).body:
                if isinstance(node, ast.ClassDef):
                    self.classes.setdefault(node.name, []).append((node, path.relative_to(self.folder)))

    def find_class(self, name, user, file):
        if not self.classes:
            self.index()
        found = [c for c in self.classes.get(name, []) if is_dataclass(c[0])]
        if len(found) != 1:
            fail(user, file, f"{len(found)} dataclasses are named {name}: {[str(f) for _, f in found]}")
        return found[0]

    def fields(self, name, user, file):
        """name -> (annotation, value), those of parent classes first, as dataclasses.fields has them."""
        node, file = self.find_class(name, user, file)
        out = {}
        for base in node.bases:
            if isinstance(base, ast.Name) and base.id in self.classes and any(is_dataclass(c) for c, _ in self.classes[base.id]):
                out.update(self.fields(base.id, base, file))
        for item in node.body:
            if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
                if "ClassVar" not in ast.unparse(item.annotation):
                    out[item.target.id] = (item.annotation, item.value)
        return out


def is_dataclass(node):
    return any("dataclass" in ast.unparse(d) for d in node.decorator_list)


def keyword(call, name):
    return next((k.value for k in call.keywords if k.arg == name), None)


def strip_optional(text):
    """The type that Optional[X], Union[X, None] and X | None have inside."""
    for head in ("Optional[", "typing.Optional["):
        if text.startswith(head):
            return text[len(head):-1]
    if text.startswith("Union[") and text.endswith(", None]"):
        return text[len("Union["):-len(", None]")]
    return text[:-len(" | None")] if text.endswith(" | None") else text


def field_line(name, annotation, value):
    """Names and number of values of the argument that a field becomes; None: of a field that is none."""
    default, meta = value, {}
    if is_call_of(value, "field"):
        init = keyword(value, "init")
        if init is not None and literal(init) is False:
            return None
        default = keyword(value, "default")
        outer = keyword(value, "metadata")
        for key, inner in zip(outer.keys, outer.values) if isinstance(outer, ast.Dict) else ():
            if literal(key) == "argparse_meta" and isinstance(inner, ast.Dict):
                meta = {literal(k): literal(v, ast.unparse(v)) for k, v in zip(inner.keys, inner.values)}
    kind = strip_optional(ast.unparse(annotation))
    names, values = ["--" + name.replace("_", "-")], "1"
    if kind == "bool":
        values = "0"
        # a boolean whose default is not False is turned off by its argument
        if literal(default, "?") is not False:
            names = [f"--{no}-{name.replace('_', '-')}" for no in ("no", "disable")]
    elif kind.lower().startswith("list["):
        values = "+"
    names = meta.get("arg_names", names)
    if meta.get("action") in NO_VALUE:
        values = "0"
    return names, str(meta.get("nargs", values))


class Reader:
    def __init__(self, folder, file):
        self.sources = Sources(folder)
        self.file = file
        self.functions = {n.name: n for n in self.sources.parse(file).body if isinstance(n, ast.FunctionDef)}
        self.arguments = {}

    def add(self, names, values, where):
        for name in names:
            if name.startswith("--"):
                self.arguments.setdefault(name, (values, where))

    def add_class(self, call, local):
        """ArgumentGroupFactory(SomeConfig, exclude=[...])"""
        name = ast.unparse(call.args[0])
        exclude = keyword(call, "exclude")
        if isinstance(exclude, ast.Name):
            exclude = local.get(exclude.id)
        names = literal(exclude) if exclude is not None else []
        if names is None:
            fail(call, self.file, "what is excluded is no list")
        for field, (annotation, value) in self.sources.fields(name, call, self.file).items():
            line = None if field in names else field_line(field, annotation, value)
            if line:
                self.add(*line, f"{name}.{field}")

    def add_argument(self, call, where):
        names = [literal(a) for a in call.args]
        if any(not isinstance(n, str) for n in names):
            fail(call, self.file, "the name of an argument is no text")
        action, nargs = keyword(call, "action"), keyword(call, "nargs")
        values = "0" if literal(action) in NO_VALUE else "1"
        if nargs is not None:
            values = str(literal(nargs, "*"))
        if action is not None and ast.unparse(action).endswith("BooleanOptionalAction"):
            names, values = names + ["--no-" + n[2:] for n in names], "0"
        self.add(names, "0" if values == "?" else values, where)

    def function(self, name, user=None):
        if name not in self.functions:
            fail(user, self.file, f"no function {name}")
        node = self.functions[name]
        local = {t.id: a.value for a in ast.walk(node) if isinstance(a, ast.Assign) for t in a.targets if isinstance(t, ast.Name)}
        calls = [n for n in ast.walk(node) if isinstance(n, ast.Call)]
        for call in sorted(calls, key=lambda c: (c.lineno, c.col_offset)):
            if is_call_of(call, "ArgumentGroupFactory"):
                self.add_class(call, local)
            elif is_call_of(call, "add_argument"):
                self.add_argument(call, name)
            elif is_call_of(call, "patch_if_not_exist"):
                self.add([literal(call.args[1])], "1", name)
            elif isinstance(call.func, ast.Name) and call.func.id in self.functions and call.func.id != name:
                if any(ast.unparse(a) in ("parser", "group") for a in call.args):
                    self.function(call.func.id, call)


def read_methods(folder, pattern, function):
    """The arguments of all methods of this name, where they stand as they are."""
    arguments = {}
    for path in sorted(pathlib.Path(folder).glob(pattern)):
        reader = Reader(folder, path.relative_to(folder))
        for owner in ast.walk(reader.sources.parse(reader.file)):
            for node in owner.body if isinstance(owner, ast.ClassDef) else ():
                for call in ast.walk(node) if isinstance(node, ast.FunctionDef) and node.name == function else ():
                    if is_call_of(call, "add_argument"):
                        reader.add_argument(call, owner.name)
        for name, found in reader.arguments.items():
            arguments.setdefault(name, found)
    return arguments


def read(folder, what):
    file, _, function = what.partition(":")
    if "*" in file:
        return [f"{name} {values} {where}" for name, (values, where) in sorted(read_methods(folder, file, function).items())]
    reader = Reader(folder, pathlib.Path(file))
    reader.function(function)
    return [f"{name} {values} {where}" for name, (values, where) in sorted(reader.arguments.items())]


SELF_SOURCE = '''
def _add_sizes(parser):
    exclude = ["hidden"]
    ArgumentGroupFactory(Config, exclude=exclude).build_group(parser, "sizes")
    group = parser.add_argument_group(title="more")
    group.add_argument("--path", nargs="*", default=None)
    group.add_argument("--both", action=argparse.BooleanOptionalAction)
    group.add_argument("-s", "--short", "--s_hort", action="store_true")
    return parser

def unused(parser):
    parser.add_argument("--unused")

def add_megatron_arguments(parser):
    parser = _add_sizes(parser)
    parser.add_argument("--last", type=int)
    return parser
'''
SELF_CLASSES = '''
@dataclass
class Parent:
    layers: int = field(default=0, metadata={"argparse_meta": {"default": None}})
    use_bias: bool = True
    kept: ClassVar[int] = 3

@dataclass(kw_only=True)
class Config(Parent):
    """Text."""
    hidden: int = 3
    fast_path: bool = False
    eps: float = field(default=1e-5, metadata={"argparse_meta": {"arg_names": ["--epsilon", "--norm-eps"]}})
    sizes: Optional[list[int]] = None
    ramp: list[int] | None = field(default=None, metadata={"argparse_meta": {"nargs": 3}})
    told: Optional[bool] = None
    made: int = field(init=False, default=1)
'''
SELF_EXPECTED = """--both 0 _add_sizes
--disable-told 0 Config.told
--disable-use-bias 0 Config.use_bias
--epsilon 1 Config.eps
--fast-path 0 Config.fast_path
--last 1 add_megatron_arguments
--layers 1 Config.layers
--no-both 0 _add_sizes
--no-told 0 Config.told
--no-use-bias 0 Config.use_bias
--norm-eps 1 Config.eps
--path * _add_sizes
--ramp 3 Config.ramp
--s_hort 0 _add_sizes
--short 0 _add_sizes
--sizes + Config.sizes
--noop 1 Feature
--swap 0 Feature"""


SELF_METHODS = '''
class Feature(Base):
    def register_args(self, parser):
        group = parser.add_argument_group(title=self.name)
        group.add_argument("--noop", type=str, default=None)
        group.add_argument("--swap", action="store_true")

    def other(self, parser):
        parser.add_argument("--unused")
'''


def check_self():
    with tempfile.TemporaryDirectory() as folder:
        base = pathlib.Path(folder, "megatron", "training")
        base.mkdir(parents=True)
        (base / "arguments.py").write_text(SELF_SOURCE, encoding="utf-8")
        (base / "config.py").write_text(SELF_CLASSES, encoding="utf-8")
        got = read(folder, DEFAULT)
        (base / "feature.py").write_text(SELF_METHODS, encoding="utf-8")
        got += read(folder, "megatron/**/f*.py:register_args")
    expected = SELF_EXPECTED.split("\n")
    for line in sorted(set(got) ^ set(expected)):
        print("unexpected:" if line in got else "missing:", line)
    return got != expected


def main(words):
    if words == ["--self"]:
        return check_self()
    if not 1 <= len(words) <= 2:
        sys.exit(__doc__)
    lines = read(words[0], words[1] if len(words) > 1 else DEFAULT)
    if len(words) > 1:
        known = {tuple(line.split()[:2]) for line in (HERE / "arguments/megatron-lm.txt").read_text(encoding="ascii").splitlines()}
        lines = [line for line in lines if tuple(line.split()[:2]) not in known]
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
