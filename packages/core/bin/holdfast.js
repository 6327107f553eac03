#!/usr/bin/env node
// The command is part of @holdfast/server. This starts the one of the project in the working directory, else the one that is
// installed beside this package.
import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const COMMAND = '@holdfast/server/bin/holdfast.js'

const command = [join(process.cwd(), 'package.json'), import.meta.url]
  .flatMap((from) => createRequire(from).resolve.paths(COMMAND) ?? [])
  .map((folder) => join(folder, COMMAND))
  .find((file) => existsSync(file))
if (command !== undefined) await import(pathToFileURL(command).href)
else {
  process.stderr.write(
    'holdfast: the command is part of the package @holdfast/server, which is not installed here.\n' +
      'Install it with: npm install @holdfast/server\n',
  )
  process.exitCode = 2
}
