"""``python -m treerank``: the command line where the script ``treerank`` is not installed."""

from treerank.cli import main

if __name__ == "__main__":
    main()
