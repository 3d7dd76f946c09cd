"""Fetches a source archive as pip would, from wherever pip is set up to look, and builds nothing.

    fetch_sdist.py NAME==VERSION FILE FOLDER

`pip download` runs the archive's build system only to read its metadata, which takes minutes for a
C++ project. Parts of pip are used that have no public interface, but the same ones since pip 20.
"""

import os
import shutil
import sys

from pip._internal.commands import create_command


def main():
    requirement, name, folder = sys.argv[1:]
    project = requirement.split("==")[0]
    command = create_command("download")
    options, _ = command.parse_args(["--no-deps", requirement])
    with command.main_context():
        session = command.get_default_session(options)
        finder = command._build_package_finder(options=options, session=session)
        links = [c.link for c in finder.find_all_candidates(project) if c.link.filename == name]
        if not links:
            sys.exit(f"the package index has no {name}: {finder.index_urls}")
        response = session.get(links[0].url_without_fragment, stream=True)
        response.raise_for_status()
        # The raw stream: requests would unpack what a server labels as gzip encoded.
        with open(os.path.join(folder, name), "wb") as file:
            shutil.copyfileobj(response.raw, file)


if __name__ == "__main__":
    main()
