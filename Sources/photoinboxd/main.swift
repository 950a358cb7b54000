import ArgumentParser
import DaemonProgram

PhotoInboxDaemon.main()
