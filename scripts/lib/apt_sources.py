"""Copies the machine's own APT sources of its distribution, as another kind or of another suite.

    apt_sources.py FOLDER deb|deb-src [SUITE]

Without SUITE, every suite of the running release is kept (release, -updates, -security); with it,
only the release itself is, under the name SUITE. Third-party sources are left out.
"""

import glob
import os
import re
import sys


def release():
    with open("/etc/os-release", encoding="utf-8") as file:
        pairs = dict(line.rstrip("\n").split("=", 1) for line in file if "=" in line)
    codename = pairs.get("VERSION_CODENAME", "").strip('"')
    if not codename:
        sys.exit("/etc/os-release names no VERSION_CODENAME: cannot tell which APT sources to use")
    return codename


def wanted_suites(words, codename, suite):
    """The suites to put in place of `words`; none if they are not the distribution's own."""
    if suite:
        return [suite] if codename in words else []
    pattern = re.compile(re.escape(codename) + r"(-updates|-security|/updates)?")
    return [word for word in words if pattern.fullmatch(word)]


def convert_line(line, kind, codename, suite):
    """One line of sources.list: `deb [options] uri suite component...`"""
    match = re.match(r"deb(?:-src)?\s+(\[[^\]]*\]\s+)?(\S+)\s+(\S+)\s+(.+)", line)
    if not match:
        return None
    options, uri, word, components = match.groups()
    suites = wanted_suites([word], codename, suite)
    if not suites:
        return None
    return f"{kind} {options or ''}{uri} {suites[0]} {components}"


def convert_stanza(stanza, kind, codename, suite):
    """One stanza of a .sources file (deb822); a field may span lines that begin with a blank."""
    fields = re.findall(r"^([A-Za-z-]+):((?:.*)(?:\n[ \t].*)*)", stanza, re.MULTILINE)
    by_name = {name.lower(): value for name, value in fields}
    if by_name.get("enabled", "yes").strip().lower() in ("no", "false", "0"):
        return None
    suites = wanted_suites(by_name.get("suites", "").split(), codename, suite)
    if not suites:
        return None
    replaced = {"types": f" {kind}", "suites": " " + " ".join(suites)}
    return "\n".join(f"{name}:{replaced.get(name.lower(), value)}" for name, value in fields)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return "\n".join(line for line in file.read().split("\n") if not line.startswith("#"))


def main():
    folder, kind = sys.argv[1:3]
    suite = sys.argv[3] if len(sys.argv) > 3 else None
    codename = release()
    lines, stanzas = [], []
    for path in sorted(["/etc/apt/sources.list"] + glob.glob("/etc/apt/sources.list.d/*")):
        if not os.path.isfile(path):
            continue
        if path.endswith(".list"):
            lines += [convert_line(line, kind, codename, suite) for line in read(path).split("\n")]
        elif path.endswith(".sources"):
            stanzas += [convert_stanza(text, kind, codename, suite)
                        for text in re.split(r"\n\s*\n", read(path))]
    lines = dict.fromkeys(filter(None, lines))
    stanzas = dict.fromkeys(filter(None, stanzas))
    if not lines and not stanzas:
        sys.exit(f"no APT source of {codename} in /etc/apt/sources.list or /etc/apt/sources.list.d")
    with open(os.path.join(folder, "own.list"), "w", encoding="utf-8") as file:
        file.write("".join(line + "\n" for line in lines))
    with open(os.path.join(folder, "own.sources"), "w", encoding="utf-8") as file:
        file.write("\n\n".join(stanzas) + "\n")


if __name__ == "__main__":
    main()
