import assert = require('node:assert/strict')
import fs = require('node:fs')
import path = require('node:path')

const installed = path.join(__dirname, '../node_modules')
// The packages of NestJS cannot be loaded with require under tsx on Node 20.
const names = fs
  .readdirSync(path.join(installed, '@holdfast'))
  .filter((folder) => folder !== 'nestjs')
  .map((folder) => `@holdfast/${folder}`)
let count = 0
for (const name of ['holdfast', ...names]) {
  const manifest = JSON.parse(fs.readFileSync(path.join(installed, name, 'package.json'), 'utf8'))
  for (const [subpath, target] of Object.entries<object | string>(manifest.exports)) {
    // A worker is the main file of its thread.
    if (typeof target === 'string' || !('require' in target) || subpath.endsWith('/worker')) continue
    const entry = name + subpath.slice(1)
    assert.match(require.resolve(entry), /dist\/cjs\//, entry)
    require(entry)
    count++
  }
}
assert.ok(count > 30, `${count} entries`)

const { retry } = require('holdfast/retry')
void retry(() => 1).then((value: number) => assert.equal(value, 1))
