#!/usr/bin/env node
// npm links a command only if its file is there at installation, so this file is not built: it starts the built command.
import { existsSync } from 'node:fs'

const command = new URL('../dist/cli/main.js', import.meta.url)
if (existsSync(command)) await import(command.href)
else {
  process.stderr.write('holdfast: the command is not built yet: run npm run build first\n')
  process.exitCode = 2
}
