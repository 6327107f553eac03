import { useSignal } from '@preact/signals'
import { isOffline } from '../../api/connection.js'
import { hasRole } from '../../api/role.js'
import type { WireDeadLetter } from '../../api/types.js'
import { CopyButton, Json, Panel } from '../../components/basics.js'
import { ReasonField } from '../../components/reason-field.js'
import { toast } from '../../components/toast.js'
import { urlFor } from '../../route.js'
import { useUnsavedWarning } from '../policies/unsaved.js'
import { editPayload } from './bulk-actions.js'

const format = (value: unknown): string => JSON.stringify(value, null, 2)

/** The problem of a text that should be JSON other than null; undefined where there is none. */
function jsonProblem(text: string): string | undefined {
  try {
    return JSON.parse(text) === null ? 'expected JSON other than null' : undefined
  } catch (error) {
    return `not valid JSON: ${(error as Error).message}`
  }
}

/** The form that edits the payload of a dead letter. */
function PayloadEditor(props: {
  entry: WireDeadLetter
  onSaved: (entry: WireDeadLetter, isReplayed: boolean) => void
  onDiscard: () => void
}) {
  const { entry, onSaved, onDiscard } = props
  const before = format(entry.edited_payload ?? entry.original_payload)
  const text = useSignal(before)
  const reason = useSignal('')
  const errorText = useSignal('')
  const isBusy = useSignal(false)
  const problem = jsonProblem(text.value)
  const isChanged = text.value !== before
  useUnsavedWarning(isChanged, 'the payload')
  const save = async (isReplayed: boolean): Promise<void> => {
    isBusy.value = true
    errorText.value = ''
    try {
      const edited = await editPayload(entry.dlq_id, JSON.parse(text.value), reason.value.trim())
      toast('The payload was saved. The original payload is kept.')
      onSaved(edited, isReplayed)
    } catch (error) {
      errorText.value = (error as Error).message
      isBusy.value = false
    }
  }
  return (
    <form
      class="payload-editor"
      aria-label="Edit payload"
      onSubmit={(submit) => {
        submit.preventDefault()
        void save(true)
      }}
    >
      <label>
        Payload
        <textarea
          class="json"
          rows={Math.min(24, text.value.split('\n').length + 1)}
          spellcheck={false}
          aria-invalid={problem === undefined ? undefined : true}
          value={text.value}
          onInput={(input) => {
            text.value = input.currentTarget.value
          }}
        />
      </label>
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <ReasonField reason={reason} />
      {errorText.value !== '' && (
        <p class="problem" role="alert">
          {errorText.value}
        </p>
      )}
      <div class="actions">
        <button
          type="submit"
          class="small"
          disabled={problem !== undefined || isBusy.value || isOffline.value}
        >
          Save and replay
        </button>
        <button
          type="button"
          class="small secondary"
          disabled={problem !== undefined || !isChanged || isBusy.value || isOffline.value}
          onClick={() => void save(false)}
        >
          Save
        </button>
        <button type="button" class="small secondary" onClick={onDiscard}>
          Discard changes
        </button>
      </div>
    </form>
  )
}

/** The fields of a payload with a plain value, as links to the dead letters with the same value. */
function SameValueLinks({ payload }: { payload: unknown }) {
  if (typeof payload !== 'object' || payload === null || Array.isArray(payload)) return null
  const fields = Object.entries(payload).filter(
    ([, value]) => ['string', 'number'].includes(typeof value) && String(value).length <= 60,
  )
  if (fields.length === 0) return null
  return (
    <p class="hint same">
      Dead letters with the same{' '}
      {fields.slice(0, 8).map(([name, value], index) => (
        <>
          {index > 0 && ', '}
          <a
            key={name}
            href={urlFor('/dead-letters', { search: JSON.stringify({ [name]: value }).slice(1, -1) })}
          >
            {name}
          </a>
        </>
      ))}
    </p>
  )
}

/** The payload of a dead letter: the edited one that replays use, and the original one. */
export function PayloadPanel(props: {
  entry: WireDeadLetter
  onSaved: (entry: WireDeadLetter, isReplayed: boolean) => void
}) {
  const { entry, onSaved } = props
  const isEditing = useSignal(false)
  const isEdited = entry.edited_payload != null
  const current = isEdited ? entry.edited_payload : entry.original_payload
  const canEdit = hasRole('operator') && !entry.processed && entry.status !== 'replaying'
  return (
    <Panel
      title={isEdited ? 'Edited payload' : 'Payload'}
      class="wide"
      actions={
        <>
          <CopyButton text={format(current)} label="payload">
            Copy payload
          </CopyButton>
          {canEdit && !isEditing.value && (
            <button
              type="button"
              class="small secondary"
              onClick={() => {
                isEditing.value = true
              }}
            >
              Edit payload
            </button>
          )}
        </>
      }
    >
      {isEditing.value ? (
        <PayloadEditor
          entry={entry}
          onSaved={(saved, isReplayed) => {
            isEditing.value = false
            onSaved(saved, isReplayed)
          }}
          onDiscard={() => {
            isEditing.value = false
          }}
        />
      ) : (
        <>
          {isEdited && (
            <p class="hint">
              Replays use this payload.{' '}
              <a href={urlFor('/audit', { action: 'dead_letter.edit', target: entry.dlq_id })}>
                Who edited it
              </a>
            </p>
          )}
          <Json value={current} label={isEdited ? 'Edited payload' : 'Payload'} />
          <SameValueLinks payload={current} />
          {isEdited && (
            <details>
              <summary>Original payload</summary>
              <Json value={entry.original_payload} label="Original payload" />
            </details>
          )}
        </>
      )}
    </Panel>
  )
}
