"""How findings get into Redis: one script, so that what belongs together changes together."""

from __future__ import annotations

import hashlib
from typing import Final

from tachograph.core.findings import EffectFinding, Finding, RunFinding, SignatureFinding, finding_bytes

FIELDS_END: Final = "\x1f"
"""Between the fields of an entry; in no id, name or digest."""

APPLY: Final = """
local prefix = KEYS[1]

local function fields(text)
  local found = {}
  for field in string.gmatch(text .. '\\31', '([^\\31]*)\\31') do found[#found + 1] = field end
  return found
end

-- Bytes, not letters: a server's locale would sort ids in its own way.
local function after(one, other)
  if one == other then return false end
  local low, high = 0, math.min(#one, #other)
  while low < high do
    local middle = math.floor((low + high + 1) / 2)
    if string.sub(one, 1, middle) == string.sub(other, 1, middle) then low = middle else high = middle - 1 end
  end
  return (string.byte(one, low + 1) or -1) > (string.byte(other, low + 1) or -1)
end

-- What stands, by hash and key, read at once; false: nothing. What takes its place is written at once in the end.
local standing, taken = {}, {}
for at = 1, #ARGV, 6 do
  local hash, key = ARGV[at + 1], ARGV[at + 2]
  local keys = standing[hash]
  if not keys then
    keys = {}
    standing[hash], taken[hash] = keys, {}
  end
  keys[#keys + 1] = key
end
for hash, keys in pairs(standing) do
  local found = redis.call('HMGET', prefix .. hash, unpack(keys))
  local values = {}
  for at = 1, #keys do values[keys[at]] = found[at] end
  standing[hash] = values
end

-- By run: effects and unknown ones that came to it in this call.
local effects_more, unknown_more = {}, {}

local function count(run, effects, unknown)
  effects_more[run] = (effects_more[run] or 0) + effects
  unknown_more[run] = (unknown_more[run] or 0) + unknown
end

local function write_counts()
  local runs = {}
  for run, effects in pairs(effects_more) do
    if effects ~= 0 or unknown_more[run] ~= 0 then runs[#runs + 1] = run end
  end
  if #runs == 0 then return end
  local found, written = redis.call('HMGET', prefix .. 'counts', unpack(runs)), {}
  for at = 1, #runs do
    local run = runs[at]
    local all, open = string.match(found[at] or '0 0', '^(-?%d+) (-?%d+)$')
    written[#written + 1] = run
    written[#written + 1] = (all + effects_more[run]) .. ' ' .. (open + unknown_more[run])
  end
  redis.call('HSET', prefix .. 'counts', unpack(written))
end

local function leave_signature(name, run)
  redis.call('HDEL', prefix .. 'signature:' .. name, run)
  if redis.call('HINCRBY', prefix .. 'signatures', name, -1) <= 0 then redis.call('HDEL', prefix .. 'signatures', name) end
end

local index = {}

function index.run(old, new)
  local kept = {}
  for at = 4, #new do kept[new[at]] = true end
  local had = {}
  if old then
    if old[2] ~= new[2] then redis.call('ZREM', prefix .. 'runs', old[2]) end
    for at = 4, #old do
      had[old[at]] = true
      if not kept[old[at]] then leave_signature(old[at], new[1]) end
    end
  end
  if not old or old[2] ~= new[2] then redis.call('ZADD', prefix .. 'runs', 0, new[2]) end
  for at = 4, #new do
    redis.call('HSET', prefix .. 'signature:' .. new[at], new[1], new[3])
    if not had[new[at]] then redis.call('HINCRBY', prefix .. 'signatures', new[at], 1) end
  end
end

local function ledger(fields)
  return fields[4] ~= '' and fields[3] ~= 'FAILED' and prefix .. 'effects-under:' .. fields[4]
end

local function unknown(fields)
  return fields[3] == 'UNKNOWN' and 1 or 0
end

function index.effect(old, new)
  local id, run, before, now = new[1], new[2], old and ledger(old), ledger(new)
  if not old then redis.call('SADD', prefix .. 'effects-of:' .. run, id) end
  if before and before ~= now then redis.call('SREM', before, id) end
  if now and before ~= now then redis.call('SADD', now, id) end
  count(run, old and 0 or 1, unknown(new) - (old and unknown(old) or 0))
end

local applied = 0
for at = 1, #ARGV, 6 do
  local kind, hash, key, version = ARGV[at], ARGV[at + 1], ARGV[at + 2], ARGV[at + 3]
  local old = standing[hash][key]
  if not old or after(version, string.match(old, '^[^\\n]*')) then
    local value = version .. '\\n' .. ARGV[at + 4] .. '\\n' .. ARGV[at + 5]
    standing[hash][key], taken[hash][key] = value, value
    if index[kind] then index[kind](old and fields(string.match(old, '^[^\\n]*\\n([^\\n]*)')), fields(ARGV[at + 4])) end
    applied = applied + 1
  end
end
for hash, values in pairs(taken) do
  local written = {}
  for key, value in pairs(values) do
    written[#written + 1] = key
    written[#written + 1] = value
  end
  if #written > 0 then redis.call('HSET', prefix .. hash, unpack(written)) end
end
write_counts()
return applied
"""
"""Takes findings in: ARGV holds kind, hash, key, version, fields and finding of each; returns how many took a place."""

ARGUMENTS: Final = 6
"""Of one finding."""


def arguments_of(finding: Finding) -> tuple[str | bytes, ...]:
    """What APPLY is told of a finding."""
    kind, hash_name, fields = _place(finding)
    return kind, hash_name, finding.key, finding.version, FIELDS_END.join(fields), finding_bytes(finding)


def ledger_digest(name: str, idempotency_key: str) -> str:
    """Stands for a tool and a key, whatever characters they hold."""
    return hashlib.sha256(f"{len(name)}:{name}{idempotency_key}".encode("utf-8", "surrogatepass")).hexdigest()


def _place(finding: Finding) -> tuple[str, str, tuple[str, ...]]:
    if isinstance(finding, RunFinding):
        run = finding.row
        order = f"{finding.first_hlc:020}/{run.run_id}"
        return "run", "findings:run", (run.run_id, order, str(run.started_at_us), *run.signatures)
    if isinstance(finding, EffectFinding):
        effect = finding.row
        digest = "" if effect.idempotency_key is None else ledger_digest(effect.name, effect.idempotency_key)
        return "effect", "findings:effect", (effect.effect_id, effect.run_id, effect.state.value, digest)
    if isinstance(finding, SignatureFinding):
        return "signature", f"hits:{finding.run_id}", ()
    kind = finding.key.partition("/")[0]
    return kind, f"findings:{kind}", ()
