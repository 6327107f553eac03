import { describe, expect, it } from 'vitest'
import { RecordModel } from '../src/invariants/record-model.js'

const RECORD = { eventId: 'e1' }
const BODIES = ['{"event_id":"e1"}']

const append = (model: RecordModel) => model.onAppend('n0.1', 'events', [RECORD])
const insert = (model: RecordModel, isLate = false) => model.onInserted('n0.1', 'events', BODIES, isLate)

describe('the model of records', () => {
  it('reports a record that the server has twice', () => {
    const model = new RecordModel()
    append(model)
    insert(model)
    expect(() => insert(model)).toThrow('stored e1 of events twice')
  })

  it('reports a record that is written again after it was acknowledged', () => {
    const model = new RecordModel()
    const appended = append(model)
    insert(model)
    appended?.onAcknowledged()
    expect(() => append(model)).toThrow('which the store has acknowledged')
  })

  it('reports an acknowledged record that the server does not have', () => {
    const appended = append(new RecordModel())
    expect(() => appended?.onAcknowledged()).toThrow('the server does not have it')
  })

  it('reports records that are deleted before their retention ends', () => {
    expect(() => new RecordModel().onExpired('n0.1', 'events', 1)).toThrow('all of them are new')
  })

  it('allows a second insert after an append that failed, or a late request of a closed connection', () => {
    const failed = new RecordModel()
    append(failed)?.onFailed()
    insert(failed)
    insert(failed)
    const late = new RecordModel()
    append(late)
    insert(late)
    insert(late, true)
  })

  it('allows a second insert after the server has lost the first one', () => {
    const model = new RecordModel()
    const appended = append(model)
    insert(model)
    model.onLost('events', BODIES)
    appended?.onAcknowledged()
    insert(model)
  })
})
