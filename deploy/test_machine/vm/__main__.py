"""`python -m deploy.test_machine.vm`: see the package."""

from deploy.test_machine.vm.machine import main

if __name__ == "__main__":
    main()
