-- Sets the time limit of a job that says what it trains and gives no limit:
--     sbatch --comment 'perfmodel:graph=resnet50@224,gpu=A100,batch=128,dtype=amp,steps=450000' train.sh
-- Goes into the folder of slurm.conf, with JobSubmitPlugins=lua there. The
-- script that asks the database is time_limit.sh beside this file.
local ASK = os.getenv("PERFMODEL_TIME_LIMIT") or "/etc/slurm/time_limit.sh"
local NO_LIMIT = 0xfffffffe -- NO_VAL: the user has given none

-- A word for the shell, whatever is in it.
local function quoted(word)
    return "'" .. word:gsub("'", "'\\''") .. "'"
end

function slurm_job_submit(job, partitions, user)
    local question = (job.comment or ""):match("^perfmodel:(.+)$")
    if question == nil or (job.time_limit ~= nil and job.time_limit ~= NO_LIMIT) then
        return slurm.SUCCESS
    end
    -- slurmctld waits for this
    local pipe = io.popen("timeout 5 sh " .. quoted(ASK) .. " " .. quoted(question) .. " 2>&1")
    local answer = pipe and pipe:read("*l")
    if pipe then pipe:close() end
    local minutes = answer and tonumber(answer:match("^%d+$"))
    if minutes then
        job.time_limit = minutes
        slurm.log_user("perfmodel: time limit %d minutes; 9 of 10 such jobs need less", minutes)
    else
        slurm.log_user("perfmodel: no time limit is set: %s", answer or "no answer")
    end
    return slurm.SUCCESS
end

function slurm_job_modify(job, record, partitions, user)
    return slurm.SUCCESS
end
