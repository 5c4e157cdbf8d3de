"""`python -m millrace worker app.tasks`"""

from .commands.main import main

if __name__ == "__main__":
    main()
