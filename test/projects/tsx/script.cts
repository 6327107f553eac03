import assert = require('node:assert/strict')
import holdfast = require('holdfast')

const call: holdfast.Guard = holdfast.guard()
void call.run(() => 1).then((value: number) => assert.equal(value, 1))
