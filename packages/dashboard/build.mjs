// Builds the page into the server's dist, from where the server serves it.
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

await build({ configFile: fileURLToPath(new URL('vite.config.ts', import.meta.url)), logLevel: 'warn' })
