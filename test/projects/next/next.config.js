import { join } from 'node:path'

/** @type {import('next').NextConfig} */
export default {
  // The folder with the packages of the repository, of which Next.js is one.
  turbopack: { root: join(import.meta.dirname, '../../..') },
  // Node.js loads the runtime and its drivers itself.
  serverExternalPackages: ['@holdfast/runtime'],
}
