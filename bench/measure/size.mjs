import { gzipSync } from 'node:zlib'
import { build } from 'esbuild'

/**
 * @param {string} source a module
 * @returns {Promise<number>} bytes of it with all it imports, minified and gzipped
 */
export async function size(source) {
  const { outputFiles } = await build({
    stdin: { contents: source, resolveDir: import.meta.dirname },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    platform: 'node',
    target: 'es2022',
    logLevel: 'error',
  })
  return gzipSync(outputFiles[0]?.contents ?? '', { level: 9 }).length
}
