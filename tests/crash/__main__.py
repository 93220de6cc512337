from tests.crash.random_kills import main

main()
