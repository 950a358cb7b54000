import WebProgram

DropProgram.main()
