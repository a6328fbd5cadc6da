"""`python -m shared.supervision -c FILE`: supervisord of this very interpreter, wherever its script was installed."""

from supervisor.supervisord import main

if __name__ == "__main__":
    main()
