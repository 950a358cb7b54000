import WebProgram

WebProgram.main()
