#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import module from 'node:module'

// The compile cache of Node.js makes the next start faster. It applies only to modules that are loaded afterwards.
;(module as { enableCompileCache?(): unknown }).enableCompileCache?.()
const { createProcessIo } = await import('./context/io.js')
const { runMain } = await import('./program.js')

// The package.json is two folders above this file, in the build as in the sources.
const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
const { version } = JSON.parse(manifest) as { version: string }

process.exitCode = await runMain(process.argv.slice(2), createProcessIo(), version)
