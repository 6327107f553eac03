const Circuit = require('@holdfast/compat/opossum')
const { guard } = require('holdfast')

guard()
  .run(() => new Circuit(async () => 1).fire())
  .then((value) => {
    if (value !== 1) throw new Error(`got ${value}`)
  })
