#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import module from 'node:module'

// Where Node.js keeps what it has compiled, the next start is quicker. What follows must be loaded after that.
;(module as { enableCompileCache?(): unknown }).enableCompileCache?.()
const { createProcessIo } = await import('./context/io.js')
const { runMain } = await import('./program.js')

// Both where it is built and where it is written, the package lies two folders up.
const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
const { version } = JSON.parse(manifest) as { version: string }

process.exitCode = await runMain(process.argv.slice(2), createProcessIo(), version)
