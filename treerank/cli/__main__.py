"""``python -m treerank.cli``, where the script ``treerank`` is not on the path."""

from treerank.cli.app import main

if __name__ == "__main__":
    main()
