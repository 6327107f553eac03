// Runs a program with the code that V8 compiled for it in an earlier process. The start of a process is most of the cost of a kill,
// and compilation is much of the start. (Node.js 20 has no NODE_COMPILE_CACHE.)
//
//     node cached-program.cjs PROGRAM [arguments]
//
// A program is a function of `require`. With WRITE_CODE_CACHE in the environment, its compiled code is written while it runs.
const { existsSync, readFileSync, writeFileSync } = require('node:fs')
const { createRequire } = require('node:module')
const { Script } = require('node:vm')

const WRITE_INTERVAL_MS = 20

/** @param {string} file */
function runCachedProgram(file) {
  const cache = `${file}.cache`
  const cachedData = existsSync(cache) ? readFileSync(cache) : undefined
  // The text is ASCII. V8 compiles the program if it does not accept the cached code.
  const script = new Script(readFileSync(file, 'latin1'), { filename: file, cachedData })
  if (process.env.WRITE_CODE_CACHE !== undefined)
    // oxlint-disable-next-line holdfast/clock -- a worker thread that is terminated has no event at its end
    setInterval(() => writeFileSync(cache, script.createCachedData()), WRITE_INTERVAL_MS).unref()
  script.runInThisContext()(createRequire(file))
}

module.exports = { runCachedProgram }
if (require.main === module) runCachedProgram(/** @type {string} */ (process.argv[2]))
