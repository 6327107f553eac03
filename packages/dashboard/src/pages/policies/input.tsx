import type { FormField } from './fields.js'

export interface OriginLabel {
  readonly text: string
  /** The full text, where `text` is shortened. */
  readonly exact?: string
}

const PLACEHOLDERS: Record<string, string> = { list: 'names; [] for none', codes: '502, 503' }

/** The options of a field that is a selection; undefined for another field. */
function optionsOf(kind: FormField['kind'], value: unknown, breakers: readonly string[]) {
  if (kind === 'breaker') return ['', ...new Set([...breakers, String(value)].filter((name) => name !== ''))]
  return typeof kind === 'string' ? undefined : kind
}

/** One field of the editor, with its config key, its meaning, the origin of its value and its problem. */
export function FieldInput(props: {
  field: FormField
  value: string | boolean
  origin: OriginLabel | undefined
  problem: string | undefined
  changed: boolean
  disabled: boolean
  /** The names of breakers that a policy can share. */
  breakers: readonly string[]
  /** The value of the file, where the value differs from it. */
  fileValue: string | boolean | undefined
  onInput: (value: string | boolean) => void
}) {
  const { field, value, origin, problem, changed, disabled, fileValue, onInput } = props
  const { name, label, kind, help, defaultValue } = field
  const id = `policy-${name}`
  const notes = `${id}-notes`
  const shared = {
    id,
    disabled,
    'aria-describedby': notes,
    ...(problem === undefined ? {} : { 'aria-invalid': 'true' as const }),
  }
  const options = optionsOf(kind, value, props.breakers)
  const from = changed ? 'Not saved.' : origin === undefined ? '' : `From ${origin.text}.`
  return (
    <div class={`field ${changed ? 'changed' : ''}`}>
      <div class="field-head">
        {kind === 'flag' ? (
          <label htmlFor={id}>
            <input
              {...shared}
              type="checkbox"
              role="switch"
              checked={value === true}
              onChange={(change) => onInput(change.currentTarget.checked)}
            />
            {label}
          </label>
        ) : (
          <label htmlFor={id}>{label}</label>
        )}
        <code title="The key in the config file">{name}</code>
      </div>
      {options !== undefined && (
        <select {...shared} value={String(value)} onChange={(change) => onInput(change.currentTarget.value)}>
          {options.map((option: string) => (
            <option value={option} selected={option === value}>
              {option === '' ? 'none' : option}
            </option>
          ))}
        </select>
      )}
      {options === undefined && kind !== 'flag' && (
        <input
          {...shared}
          type="text"
          inputMode={kind === 'number' || kind === 'seconds' ? 'decimal' : 'text'}
          autocomplete="off"
          placeholder={
            defaultValue === undefined ? (PLACEHOLDERS[String(kind)] ?? 'none') : `none, or ${defaultValue}`
          }
          value={String(value)}
          onInput={(input) => onInput(input.currentTarget.value)}
        />
      )}
      <div id={notes}>
        <small>{help}</small>
        <small class="origin" title={changed ? undefined : origin?.exact}>
          {problem === undefined ? from : <span class="field-problem">{problem}</span>}
        </small>
      </div>
      {fileValue !== undefined && !disabled && (
        <button
          type="button"
          class="reset"
          aria-label={`Reset ${name} to the file`}
          onClick={() => onInput(fileValue)}
        >
          Reset to the file: {formatFormValue(fileValue)}
        </button>
      )}
    </div>
  )
}

/** A value of the form as text. */
const formatFormValue = (value: string | boolean): string =>
  typeof value === 'boolean' ? (value ? 'on' : 'off') : value === '' ? 'none' : value
