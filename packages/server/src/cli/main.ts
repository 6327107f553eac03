#!/usr/bin/env node
import { readFileSync } from 'node:fs'
import { processIo } from './io.js'
import { main } from './program.js'

// Both where it is built and where it is written, the package lies two folders up.
const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
const { version } = JSON.parse(manifest) as { version: string }

process.exitCode = await main(process.argv.slice(2), processIo(), version)
