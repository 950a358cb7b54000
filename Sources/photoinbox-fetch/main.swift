import FetchService

FetchProgram.main()
