const { guard } = require('holdfast')

guard()
  .run(() => 1)
  .then((value) => {
    if (value !== 1) throw new Error(`got ${value}`)
  })
