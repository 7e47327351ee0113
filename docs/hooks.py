"""MkDocs calls this for each page. Links that leave docs/ lead to the repository of `repo_url`, and are plain text without one."""

import pathlib
import re

CODE = re.compile(r"(^```.*?^```|`[^`\n]+`)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[((?:[^\[\]]|\[[^\]]*\])*)\]\((\.\./[^)\s]*)\)")


def on_page_markdown(markdown, page, config, files):
    del files
    docs = pathlib.Path(config.docs_dir).resolve()
    at = (docs / page.file.src_uri).parent

    def rewritten(link):
        text, target = link.groups()
        place, mark, anchor = target.partition("#")
        path = (at / place).resolve()
        if path.is_relative_to(docs) and path.is_file():
            return link.group(0)
        if not config.repo_url:
            return text
        kind = "tree" if path.is_dir() else "blob"
        return f"[{text}]({config.repo_url.rstrip('/')}/{kind}/main/{path.relative_to(docs.parent).as_posix()}{mark}{anchor})"

    # Code within a link's text hides the brackets around it, so that links are replaced between blocks of code only.
    blocks = re.split(r"(^```.*?^```)", markdown, flags=re.MULTILINE | re.DOTALL)
    return "".join(block if block.startswith("```") else LINK.sub(rewritten, block) for block in blocks)
